import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../../contract/statuses.ts";
import { queueForTurn } from "../../../control/jobs/store.ts";
import { jobBed, pipeline } from "./bed.ts";

test("tasks of a pipeline run one after the other, each on a cluster of its own", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(pipeline);
  await bed.untilTask([1, 0], "RUNNING");
  const { status, waitsFor, attempt } = await bed.until([1, 1], (task) => task.waitsFor !== null);
  assert.deepEqual(
    [status, waitsFor, attempt],
    ["PENDING", "waits for task 0 (prep) to succeed", 0],
  );

  for (const number of [0, 1, 2]) {
    await bed.untilTask([1, number], "RUNNING");
    (await bed.agent([1, number])).end(1, "SUCCEEDED");
  }
  const last = await bed.untilSettled([1, 2]);

  assert.equal(last.status, "SUCCEEDED");
  assert.equal(await bed.world.run(rows.wait, { job_id: 1 }), jobExitCodes.SUCCEEDED);
  const names = await Promise.all([0, 1, 2].map((at) => bed.cluster([1, at])));
  assert.deepEqual(
    names.map(({ name, madeFor }) => [name, madeFor?.what]),
    [
      ["prep-1", "managed job 1, task 0 (prep)"],
      ["train-1", "managed job 1, task 1 (train)"],
      ["eval-1", "managed job 1, task 2 (eval)"],
    ],
  );
});

test("what comes after a task that failed is cancelled, and the pipeline has failed", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(pipeline);
  await bed.untilTask([1, 0], "RUNNING");

  (await bed.agent([1, 0])).end(1, "FAILED");
  const [second, third] = [await bed.untilSettled([1, 1]), await bed.untilSettled([1, 2])];

  assert.deepEqual(
    [second, third].map(({ status, reason, attempt }) => [status, reason, attempt]),
    [
      ["CANCELLED", "task 0 (prep) before it is FAILED", 0],
      ["CANCELLED", "task 1 (train) before it is CANCELLED", 0],
    ],
  );
  assert.equal(await bed.world.run(rows.wait, { job_id: 1 }), jobExitCodes.FAILED);
});

test("a task of a pipeline that lost its machine is recovered, and the next one waits for it", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(pipeline);
  const { clusterId } = await bed.untilTask([1, 0], "RUNNING");

  await bed.world.provider.lose(clusterId ?? "", 0);
  await bed.look(1);
  await bed.untilAttempt([1, 0], 2);
  assert.equal((await bed.task([1, 1])).attempt, 0);
  (await bed.agent([1, 0])).end(1, "SUCCEEDED");

  assert.equal((await bed.untilTask([1, 1], "RUNNING")).recoveries, 0);
  assert.equal((await bed.job([1, 1])).submission.env["OUTRIGGER_TASK_IDS"]?.split("\n").length, 3);
});

test("a pipeline goes on where it was when control was killed between two tasks", async (t) => {
  let bed = await jobBed(t);
  await bed.launch(pipeline);
  await bed.untilTask([1, 0], "RUNNING");
  const agent = await bed.agent([1, 0]);

  bed = await bed.crash();
  agent.end(1, "SUCCEEDED");
  await bed.untilTask([1, 1], "RUNNING");
  bed = await bed.crash();
  await bed.look([1, 1]);

  assert.equal((await bed.task([1, 1])).attempt, 1);
  assert.equal((await bed.task([1, 2])).attempt, 0);
});

test("a task is not left alone where the one before it has ended meanwhile", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(pipeline);
  await bed.untilTask([1, 0], "RUNNING");
  const waiting = await bed.until([1, 1], ({ queuedFor }) => queuedFor === "turn");
  (await bed.agent([1, 0])).end(1, "SUCCEEDED");
  await bed.untilTask([1, 1], "RUNNING");

  await bed.world.ctx.batch((tx) => queueForTurn(tx, waiting));

  assert.equal((await bed.task([1, 1])).queuedFor, null);
});
