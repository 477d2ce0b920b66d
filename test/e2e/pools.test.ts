import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations as jobs } from "../../contract/operations/jobs.ts";
import { poolOperations as rows } from "../../contract/operations/pools.ts";
import type { ManagedJobRecord } from "../../contract/records/jobs.ts";
import type { ServiceStatusRecord } from "../../contract/records/services.ts";
import { until } from "../helpers/agent.ts";
import { kill, listNodeHomes, processesOf, startControl } from "../helpers/programs.ts";
import { assertNothingIsLeft } from "./service.ts";

test("a pool of two workers on this machine runs jobs", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const setups = join(home, "setups");
  const pool = join(home, "pool.yaml");
  writeFileSync(pool, `pool: {workers: 2}\nsetup: echo set up; echo once >> ${setups}\n`);
  const gateOf = (id: number) => join(home, `gate-${id}`);
  const run = `echo attempt $OUTRIGGER_RECOVERY_COUNT of $OUTRIGGER_MANAGED_JOB_ID on "$HOME"; touch ~/has-$OUTRIGGER_MANAGED_JOB_ID
until [ -e ${home}/gate-$OUTRIGGER_MANAGED_JOB_ID ]; do sleep 0.05; done`;
  const untilPool = (isSo: (pool: ServiceStatusRecord) => boolean) =>
    until(async () => {
      const [record] = await client.callAndGet(rows.status, { pool_names: "warm" });
      return record !== undefined && isSo(record) ? record : undefined;
    });
  const isWhole = ({ replica_info: workers }: ServiceStatusRecord) =>
    workers.length === 2 && workers.every(({ status }) => status === "READY");
  const untilJob = (id: number, isSo: (job: ManagedJobRecord) => boolean) =>
    until(async () => {
      const { jobs: found } = await client.callAndGet(jobs.queueV2, { job_ids: [id] });
      return found[0] !== undefined && isSo(found[0]) ? found[0] : undefined;
    });
  const untilStatus = (id: number, status: string) => untilJob(id, (job) => job.status === status);
  const countOf = (file: string) => readFileSync(file, "utf8").trim().split("\n").length;

  await t.test("three jobs share two workers, which are set up once", async () => {
    assert.equal((await control.cli("jobs", "pool", "apply", "-p", "warm", pool)).code, 0);
    await untilPool(isWhole);
    for (const id of [1, 2, 3])
      assert.equal(
        (await control.cli("jobs", "launch", "-d", "-p", "warm", run)).stdout,
        `${id}\n`,
      );
    await untilStatus(1, "RUNNING");
    await untilStatus(2, "RUNNING");
    const waiting = await untilJob(3, ({ details }) => details?.startsWith("waits") ?? false);

    assert.equal(waiting.details, "waits for an idle worker of pool warm");
    writeFileSync(gateOf(2), "");
    await untilStatus(2, "SUCCEEDED");
    await untilStatus(3, "RUNNING");
    assert.match((await control.cli("jobs", "pool", "status")).stdout, /^warm +1 +READY +2\/2/m);
    const { stdout } = await control.cli("jobs", "pool", "logs", "warm", "1", "--no-follow");
    assert.match(stdout, /^set up$/m);
    assert.equal(countOf(setups), 2);
  });

  await t.test("a lost worker is replaced, and its job goes on elsewhere", async () => {
    const node = await until(() =>
      listNodeHomes(home).find((one) => existsSync(join(one, "has-1"))),
    );
    const followed = control.cli("jobs", "logs", "1");

    const processes = processesOf(`HOME=${node}\0`);
    renameSync(node, join(home, "lost"));
    for (const { pid } of processes) kill(pid);
    await untilJob(1, (job) => job.recovery_count === 1 && job.status === "RUNNING");
    writeFileSync(gateOf(1), "");
    const { code, stdout } = await followed;
    await untilPool(isWhole);

    assert.equal(code, 0);
    assert.match(stdout, /^attempt 0 of 1 .*\n\n\[the end of this .*\]\nattempt 1 of 1 .*\n$/);
    assert.equal(countOf(setups), 3);
  });

  await t.test("control that is killed harms neither jobs nor workers", async () => {
    await control.end("SIGKILL");
    writeFileSync(gateOf(3), "");
    await control.start();

    const { recovery_count } = await untilStatus(3, "SUCCEEDED");
    assert.equal(recovery_count, 0);
    await untilPool(isWhole);
    assert.equal(countOf(setups), 3);
  });

  await t.test("it is taken down once its jobs have ended, and nothing is left", async () => {
    await control.cli("jobs", "launch", "-d", "-p", "warm", run);
    await untilStatus(4, "RUNNING");

    const refused = await control.cli("jobs", "pool", "down", "warm");
    assert.deepEqual([refused.code, /have not ended: 4;/.test(refused.stderr)], [5, true]);
    const { code, stderr } = await control.cli("jobs", "pool", "down", "-y", "--purge", "warm");

    assert.equal(code, 0, stderr);
    await untilStatus(4, "CANCELLED");
    assert.deepEqual(await client.callAndGet(rows.status, { pool_names: null }), []);
    assertNothingIsLeft(control);
  });
});
