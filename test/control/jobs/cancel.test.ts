import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import type { GivenInputOf } from "../../../common/operation.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { jobBed, withJob } from "./bed.ts";

test("a job that is cancelled ends on its cluster, which goes, and only then it is CANCELLED", async (t) => {
  const bed = await withJob(t);
  const { node } = await bed.agent(1);
  const release = bed.world.provider.holds("destroy");
  await bed.world.run(rows.cancel, { job_ids: [1] });
  await bed.world.provider.held("destroy");

  assert.equal((await bed.task(1)).status, "CANCELLING");
  assert.equal(node.jobs[0]?.status, "CANCELLED");
  release();
  const task = await bed.untilTask(1, "CANCELLED");

  assert.deepEqual([task.reason, task.settledAt === null], ["cancelled by local", false]);
  assert.equal((await bed.cluster(1)).status, "GONE");
});

test("a job that waits for a machine is cancelled without one", async (t) => {
  const bed = await jobBed(t);
  bed.world.provider.offer = undefined;
  await bed.launch();
  await bed.until(1, ({ waitsFor }) => waitsFor !== null);

  await bed.world.run(rows.cancel, { name: "train" });

  await bed.untilTask(1, "CANCELLED");
  assert.deepEqual(bed.world.provider.calls, []);
});

test("a job whose cluster is being made is cancelled, and leaves none", async (t) => {
  const bed = await jobBed(t);
  const release = bed.world.provider.holds("create");
  await bed.launch();
  await bed.world.provider.held("create");

  await bed.world.run(rows.cancel, { all: true });
  release();

  await bed.untilTask(1, "CANCELLED");
  assert.equal(bed.world.provider.machines.size, 0);
});

test("a job on a machine that does not answer is cancelled, once its cluster can be deleted", async (t) => {
  const bed = await withJob(t, undefined, { config: { headPatienceSeconds: 0 } });
  const { clusterId } = await bed.task(1);
  const { provider } = bed.world;
  provider.agentsStart = false;
  await provider.silence(clusterId ?? "", 0);
  provider.fails("destroy", new AppError("CloudError", "not now"));
  await bed.world.run(rows.cancel, { job_ids: [1] });
  const { waitsFor } = await bed.until(1, (task) => /deleted/.test(task.waitsFor ?? ""));
  assert.match(waitsFor ?? "", /^waits until its cluster is deleted: not now/);

  provider.fails("destroy", undefined);

  await bed.untilTask(1, "CANCELLED");
});

test("a job that has ended stays as it is", async (t) => {
  const bed = await withJob(t);
  (await bed.agent(1)).end(1, "SUCCEEDED");
  await bed.untilSettled(1);

  const request = await bed.world.call(rows.cancel, { job_ids: [1] });
  await bed.world.get(rows.cancel, request);

  assert.equal((await bed.task(1)).status, "SUCCEEDED");
  assert.match(await bed.world.printed(request), /Managed job 1 is SUCCEEDED already/);
});

const refused: Record<string, [GivenInputOf<typeof rows.cancel>, string]> = {
  "nothing that is named": [{}, "ValueError"],
  "two ways to name them": [{ name: "a", all: true }, "ValueError"],
  "a pool and its job": [{ pool: "warm", name: "a" }, "ValueError"],
  "a job that there is not": [{ job_ids: [7] }, "JobNotFoundError"],
};

for (const [what, [input, type]] of Object.entries(refused))
  test(`a cancel of ${what} is refused`, async (t) => {
    const bed = await jobBed(t);

    await assert.rejects(bed.world.run(rows.cancel, input), { type });
  });
