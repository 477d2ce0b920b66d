import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../common/errors.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Explanation } from "../../contract/records/explanation.ts";
import { whyPending } from "../../control/clusters/planning.ts";
import { remark } from "../../control/clusters/provision-log.ts";
import { testWorld, type World } from "../helpers/world.ts";

const demo = { cluster_name: "demo" };
const task = "run: echo hi";

const explain = async (world: World, name: string): Promise<Explanation> =>
  (await world.http("GET", `/explain?name=${name}`)).json as unknown as Explanation;

test("a cluster that is being created says what is done for it, and its request says so, too", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const id = await world.call(rows.launch, { ...demo, task });
  await world.provider.held("create");

  const cluster = await explain(world, "demo");
  const request = await explain(world, id.slice(0, 8));
  release();
  await world.get(rows.launch, id);

  assert.deepEqual([cluster.noun, cluster.status, cluster.wanted], ["cluster", "INIT", "UP"]);
  assert.match(cluster.because ?? "", /^launch by /);
  assert.match(cluster.doing.join(), /^creates node 0, for \d+ s$/);
  assert.equal(cluster.attempt, null);
  assert.deepEqual([request.noun, request.id, request.status], ["request", id, "RUNNING"]);
  assert.match(request.doing.join(), /cluster demo: creates node 0/);
  assert.deepEqual((await explain(world, "demo")).doing, []);
  assert.equal((await explain(world, id)).wanted, null);
});

test("a cluster that waits for machines says what for, and so does its status", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  await world.call(rows.launch, { ...demo, task });
  await world.provider.held("create");
  const pending = whyPending("0", "Slurm job 7: Resources");
  const { id } = await explain(world, "demo");

  await remark(world.ctx, id, pending);
  const whileMade = await explain(world, "demo");
  const [record] = await world.run(rows.status, { summary_response: true });
  assert.match(whileMade.doing.join(), /^creates node 0, for \d+ s$/);
  assert.notEqual(record?.init_status_reason, pending);

  Object.assign(world.provider, { queues: true, waitsFor: "Slurm job 7: Resources" });
  release();
  await world.look("demo");
  assert.ok((await explain(world, "demo")).doing.includes(pending));
  const [later] = await world.run(rows.status, { summary_response: true });
  assert.equal(later?.init_status_reason, pending);
});

test("a cluster whose nodes cannot be deleted says why, how often, and when it is tried again", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...demo, task });
  world.provider.fails("destroy", new AppError("CloudError", "the cloud is closed"));
  await assert.rejects(world.run(rows.down, demo));
  await world.untilAttempt("demo", 0);

  const { status, wanted, doing, attempt } = await explain(world, "demo");

  assert.deepEqual([status, wanted], ["UP", "GONE"]);
  assert.match(doing.join(), /failed: the cloud is closed/);
  assert.equal(attempt?.reason, "the cloud is closed");
  assert.ok((attempt?.failures ?? 0) > 0);
  assert.ok((attempt?.next_at ?? 0) > (attempt?.failed_at ?? 0));
});

test("requests that wait for their turn say behind how many", async (t) => {
  const world = await testWorld(t, { queuesClosed: true });
  const ids = [];
  for (const cluster_name of ["a", "b", "c"])
    ids.push(await world.call(rows.launch, { cluster_name, task }));

  const { doing } = await explain(world, ids[2] ?? "");

  assert.deepEqual(doing, ["waits for its turn, behind 2 other requests"]);
});

test("a cluster that is up says what its queued jobs wait for, the next one first", async (t) => {
  const world = await testWorld(t);
  for (const row of [rows.launch, rows.exec, rows.exec]) await world.run(row, { ...demo, task });
  const { id } = await world.cluster("demo");
  const agent = world.provider.agentOf(id);
  const reasons = ["waits for 1 CPU: job 1 uses all 2", "waits second in line, behind job 2"];
  for (const [index, reason] of reasons.entries())
    Object.assign(agent.node.jobs[index + 1] ?? {}, { status: "PENDING", reason });

  assert.deepEqual((await explain(world, "demo")).doing, [
    "job 2 waits for 1 CPU: job 1 uses all 2",
    "job 3 waits second in line, behind job 2",
  ]);
  await world.provider.silence(id, 0);
  assert.deepEqual(
    (await explain(world, "demo")).doing.filter((text) => /^job/.test(text)),
    [],
  );
});

test("what there is not is not explained", async (t) => {
  const world = await testWorld(t);

  const { status, json } = await world.http("GET", "/explain?name=nowhere");

  assert.equal(status, 404);
  assert.match(String(json["detail"]), /there is no live cluster or service nowhere/);
});
