import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };
const demo = { ...name, task: "run: echo hi" };

test("the queue of a cluster that is away is what its head said last, and says of when", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  const { id: clusterId } = await world.cluster("demo");
  const { job_id } = await world.run(rows.exec, { ...name, task: "run: second" });
  const file = join(world.home, "control/clusters", clusterId, "queue.json");
  await until(
    () => (existsSync(file) && readFileSync(file, "utf8").includes('"id":2')) || undefined,
  );
  await world.provider.agentOf(clusterId).close();
  const id = await world.call(rows.queue, name);

  const ending = world.get(rows.queue, id);
  const jobs = await until(() => {
    // It is asked again for ten seconds.
    world.advance(2_000);
    return Promise.race([ending, undefined]);
  });

  assert.deepEqual(
    jobs.map((job) => job.job_id),
    [job_id, 1],
  );
  assert.match(await world.printed(id), /^cluster demo does not answer; .* as of \d{4}-.*Z$/m);
  assert.match(String(jobs[0]?.metadata?.["as_of"]), /^\d{4}-/);
});

test("the jobs of a cluster keep their numbers when its head is replaced", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  const { id } = await world.cluster("demo");
  const file = join(world.home, "control/clusters", id, "queue.json");
  const untilKept = (text: string) =>
    until(() => (existsSync(file) && readFileSync(file, "utf8").includes(text)) || undefined);
  await untilKept('"id":1');

  await world.provider.lose(id, 0);
  await world.look("demo");
  await world.untilStatus("demo", "UP");
  const { job_id } = await world.run(rows.exec, { ...name, task: "run: again" });
  await untilKept('"lastJobId":2');

  assert.equal(job_id, 2);
});

test("an exec says that the hooks of its task have no effect", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  const task = "{run: work, config: {hooks: [{run: save, events: [stop]}]}}";

  const id = await world.call(rows.exec, { ...name, task });
  await world.get(rows.exec, id);

  assert.match(await world.printed(id), /no effect here: config\.hooks \(outrigger launch/);
});
