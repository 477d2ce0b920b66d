import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { counting, cutMs, openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const place = { resources: { infra: "ssh/lab" } };
/** The command line of what runs a job, for pgrep(1). */
const scriptOf = (id: number) => `bash -l .*/jobs/${id}/run.sh$`;

test("a network that is cut costs no job and no line of a log", {
  skip,
  timeout: 300_000 + cutMs,
}, async (t) => {
  const env = { OUTRIGGER_HEAD_PATIENCE_SECONDS: "1" };
  const lab = await openLab(t, [{ node: true }], env);
  const [host] = lab.hosts as [SshHost];
  assert.equal((await lab.run("deploy")).error, null);
  const one = clusterOf(lab.control, "one");
  const id = await one.launch(aTask(counting, place));
  const other = await one.exec(aTask("echo begun; sleep 1000"));
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const followed = [
    one.follow(id, {}, begun[0].resolve),
    one.follow(other, {}, begun[1].resolve),
  ] as const;
  await Promise.all(begun.map(({ promise }) => promise));

  await host.link("down");
  await host.run(`pkill -KILL -u ana -f '${scriptOf(other)}'`);
  await sleep(cutMs);
  await one.untilStatus("INIT");
  await host.link("up");
  await one.untilStatus("UP");

  assert.equal((await followed[1]).code, 100);
  const died = (await one.queue()).find(({ job_id }) => job_id === other);
  assert.equal(died?.status, "FAILED");
  assert.match(String(died?.metadata["reason"]), /^run exited with 137\b/);
  assert.equal(await one.jobStatus(id), "RUNNING");
  await host.run("touch /home/ana/go");
  const { code, text } = await followed[0];
  assert.equal(code, 0);
  const count = Number(await host.run("cat /home/ana/count"));
  assert.deepEqual(
    text.trimEnd().split("\n"),
    Array.from({ length: count }, (_, index) => String(index + 1)),
  );
});
