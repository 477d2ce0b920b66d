import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../../contract/records/jobs.ts";
import { until } from "../helpers/agent.ts";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { counting, cutMs, openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();

test("a managed job on a host outlives a cut network and a control that is away", {
  skip,
  timeout: 400_000 + cutMs,
}, async (t) => {
  const env = { OUTRIGGER_HEAD_PATIENCE_SECONDS: "1" };
  const lab = await openLab(t, [{ node: true }], env);
  const [host] = lab.hosts as [SshHost];
  const { control } = lab;
  assert.equal((await lab.run("deploy")).error, null);
  const untilJob = (isSo: (job: ManagedJobRecord) => boolean) =>
    until(async () => {
      const { jobs } = await control.client.callAndGet(rows.queueV2, { job_ids: [1] });
      return jobs[0] !== undefined && isSo(jobs[0]) ? jobs[0] : undefined;
    });
  const task = { name: "count", resources: { infra: "ssh/lab" }, run: counting };
  await control.client.callAndGet(rows.launch, { task: JSON.stringify(task), name: null });
  await untilJob(({ status }) => status === "RUNNING");

  await host.link("down");
  const waiting = await untilJob(({ details }) => details?.includes("waits") ?? false);
  assert.equal(waiting.status, "RUNNING");
  assert.match(
    waiting.details ?? "",
    /its machine does not answer; waits until it does|waits until ssh/,
  );
  await sleep(cutMs);
  await control.end("SIGKILL");
  await host.link("up");
  await host.run("touch /home/ana/go; until [ -e /home/ana/count ]; do sleep 0.05; done");
  await control.start();

  const ended = await untilJob((job) => job.schedule_state === "DONE");
  assert.deepEqual([ended.status, ended.recovery_count], ["SUCCEEDED", 0]);
  const count = Number(await host.run("cat /home/ana/count"));
  const { stdout } = await control.cli("jobs", "logs", "1");
  assert.deepEqual(
    stdout.trimEnd().split("\n"),
    Array.from({ length: count }, (_, index) => String(index + 1)),
  );
});
