import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../../contract/records/jobs.ts";
import { until } from "../helpers/agent.ts";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { counting, cutMs, type Lab, openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const go = "touch /home/ana/go; until [ -e /home/ana/count ]; do sleep 0.05; done";

/** Submits a job that counts, and says how to wait for it. */
async function launch({ control }: Lab, resources: object) {
  const task = { name: "count", resources: { infra: "ssh/lab", ...resources }, run: counting };
  await control.client.callAndGet(rows.launch, { task: JSON.stringify(task), name: null });
  return (isSo: (job: ManagedJobRecord) => boolean) =>
    until(async () => {
      const { jobs } = await control.client.callAndGet(rows.queueV2, { job_ids: [1] });
      return jobs[0] !== undefined && isSo(jobs[0]) ? jobs[0] : undefined;
    });
}

test("a managed job on a host outlives a cut network and a control that is away", {
  skip,
  timeout: 400_000 + cutMs,
}, async (t) => {
  const env = { OUTRIGGER_HEAD_PATIENCE_SECONDS: "1" };
  const lab = await openLab(t, [{ node: true }], env);
  const [host] = lab.hosts as [SshHost];
  const { control } = lab;
  assert.equal((await lab.run("deploy")).error, null);
  const untilJob = await launch(lab, {});
  await untilJob(({ status }) => status === "RUNNING");

  await host.link("down");
  const waiting = await untilJob(({ details }) => details?.includes("waits") ?? false);
  assert.equal(waiting.status, "RUNNING");
  assert.match(
    waiting.details ?? "",
    /its machine does not respond; waits until it does|waits until ssh/,
  );
  await sleep(cutMs);
  await control.end("SIGKILL");
  await host.link("up");
  await host.run(go);
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

test("a leased job outlives a short cut, ends in a long one before the next attempt, and while control is away", {
  skip,
  timeout: 400_000,
}, async (t) => {
  const lab = await openLab(t, [{ node: true }, { node: true }], {
    OUTRIGGER_HEAD_PATIENCE_SECONDS: "1",
  });
  const { control } = lab;
  assert.equal((await lab.run("deploy")).error, null);
  const untilJob = await launch(lab, { job_recovery: { lease: "12s" } });
  const untilRuns = async (recoveries: number) => {
    const isSo = ({ status, recovery_count: so }: ManagedJobRecord) =>
      status === "RUNNING" && so === recoveries;
    await untilJob(isSo);
    // Its script begins a moment after it is said to run.
    return until(async () => {
      const alive = await Promise.all(lab.hosts.map((host) => isCounting(host)));
      assert.ok(alive.filter(Boolean).length < 2, "no two attempts are alive");
      return lab.hosts.find((_, at) => alive[at]);
    });
  };
  const first = await untilRuns(0);

  await first.link("down");
  await sleep(2_000);
  await first.link("up");
  await sleep(12_000);
  assert.equal(await untilRuns(0), first, "the attempt goes on");

  await first.link("down");
  const { details } = await untilJob((job) => job.details?.includes("its lease of 12 s") ?? false);
  assert.match(details ?? "", /or until 20\S+Z, when its lease of 12 s has run out/);
  const second = await untilRuns(1);
  assert.notEqual(second, first);
  const printed = await first.run("cat $(find /home/ana -name run.log)");
  const [last = "none"] = printed.match(/^\d+$/gm)?.slice(-1) ?? [];
  await first.link("up");
  // What it printed after the cut comes with the host.
  await until(async () => {
    const { stdout } = await control.cli("jobs", "logs", "1", "--no-follow");
    const counts: string[] = stdout.match(/^\d+$/gm) ?? [];
    return counts[counts.lastIndexOf("1") - 1] === last || undefined;
  });

  await control.end("SIGKILL");
  await until(async () => !(await isCounting(second)) || undefined);
  await control.start();
  const third = await untilRuns(2);
  await third.run(go);

  const ended = await untilJob((job) => job.schedule_state === "DONE");
  assert.deepEqual([ended.status, ended.recovery_count], ["SUCCEEDED", 2]);
  const { stdout } = await control.cli("jobs", "logs", "1");
  // Bash also tells of the signal that ended an attempt.
  const counts = (stdout.match(/^\d+$/gm) ?? []).map(Number);
  const begins = counts.flatMap((count, at) => (count === 1 ? [at] : []));
  assert.equal(begins.length, 3, "the log has each attempt");
  assert.deepEqual(
    counts,
    begins.flatMap((from, at) => {
      const length = (begins[at + 1] ?? counts.length) - from;
      return Array.from({ length }, (_, index) => index + 1);
    }),
  );
});

/** Whether an attempt is alive on a host. */
const isCounting = async (host: SshHost): Promise<boolean> =>
  (await host.run("pgrep -f '[r]un\\.sh' || true")) !== "";
