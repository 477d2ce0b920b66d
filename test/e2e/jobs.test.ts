import assert from "node:assert/strict";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { missingEnd } from "../../contract/job-log.ts";
import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../../contract/records/jobs.ts";
import { until } from "../helpers/agent.ts";
import { kill, listNodeHomes, processesOf, startControl } from "../helpers/programs.ts";
import { assertNothingIsLeft } from "./service.ts";

test("managed jobs run to their end on this machine", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const gate = join(home, "gate");
  const recordOf = async (id: number) =>
    (await client.callAndGet(rows.queueV2, { job_ids: [id], all_users: true })).jobs[0];
  const untilJob = (id: number, isSo: (job: ManagedJobRecord) => boolean) =>
    until(async () => {
      const job = await recordOf(id);
      return job !== undefined && isSo(job) ? job : undefined;
    });
  const untilGone = (id: number) => untilJob(id, (job) => job.schedule_state === "DONE");
  const launch = async (run: string, more: object = {}) => {
    const task = JSON.stringify({ name: "train", run, ...more });
    const { job_id } = await client.callAndGet(rows.launch, { task, name: null });
    return job_id?.[0] ?? assert.fail("no job was submitted");
  };

  await t.test("one is launched, followed and waited for", async () => {
    const run = "echo $OUTRIGGER_MANAGED_JOB_ID $OUTRIGGER_RECOVERY_COUNT; exit 3";
    const { code, stdout, stderr } = await control.cli("jobs", "launch", run);
    await untilGone(1);

    assert.deepEqual([code, stdout], [100, "1 0\n"], stderr);
    assert.match(stderr, /Managed job 1 FAILED: run exited with 3/);
    assert.equal((await control.cli("jobs", "wait", "1")).code, 100);
    assert.equal((await control.cli("jobs", "logs", "1")).stdout, "1 0\n", "kept by control");
    assert.match((await control.cli("jobs", "queue")).stdout, /^ *1 +job +FAILED/m);
    assertNothingIsLeft(control);
  });

  await t.test("one whose node is lost runs again, and its log goes on", async () => {
    const run = `echo "$OUTRIGGER_TASK_ID $OUTRIGGER_RECOVERY_COUNT"; touch ~/began
until [ -e ${gate} ]; do sleep 0.05; done; echo done`;
    const id = await launch(run);
    const node = await until(() =>
      listNodeHomes(home).find((one) => existsSync(join(one, "began"))),
    );
    const followed = control.cli("jobs", "logs", String(id));
    // Nobody can show what the machine alone has when it is lost.
    await until(
      async () =>
        (await control.cli("jobs", "logs", "--no-follow", String(id))).stdout || undefined,
    );

    const processes = processesOf(`HOME=${node}\0`);
    renameSync(node, join(home, "lost"));
    for (const { pid } of processes) kill(pid);
    await untilJob(id, (job) => job.recovery_count === 1 && job.status === "RUNNING");
    writeFileSync(gate, "");
    const { code, stdout } = await followed;
    await untilGone(id);

    const [before = "", after = ""] = stdout.split(missingEnd);
    const [first = ""] = before.split("\n");
    const [second, last] = after.split("\n");
    assert.deepEqual([code, last], [0, "done"], stdout);
    assert.match(first, / 0$/);
    assert.equal(second, first.replace(/0$/, "1"), "the task id stays the same");
    const { stdout: told } = await control.cli("jobs", "logs", String(id), "--controller");
    assert.match(told, /RECOVERING: its machine is gone.*RUNNING: attempt 2.*SUCCEEDED/s);
    assertNothingIsLeft(control);
  });

  await t.test("one is not harmed when control is killed, and ends while it is away", async () => {
    const id = await launch("touch ~/began; sleep 1; echo done; touch ~/ended");
    const node = await until(() =>
      listNodeHomes(home).find((one) => existsSync(join(one, "began"))),
    );
    await control.end("SIGKILL");
    await until(() => existsSync(join(node, "ended")) || undefined);
    await control.start();
    const { recovery_count, status } = await untilGone(id);

    assert.deepEqual([status, recovery_count], ["SUCCEEDED", 0]);
    assert.equal((await control.cli("jobs", "logs", String(id))).stdout, "done\n");
  });

  await t.test("one is cancelled, and nothing is left of it", async () => {
    const id = await launch("touch ~/began; sleep 1000");
    await until(() => listNodeHomes(home).find((one) => existsSync(join(one, "began"))));

    await control.cli("jobs", "cancel", String(id));

    assert.equal((await control.cli("jobs", "wait", String(id))).code, 103);
    assert.equal((await recordOf(id))?.status, "CANCELLED");
    assertNothingIsLeft(control);
  });
});
