import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { AppError, fail } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { name } from "./hooked-cluster.ts";

const task = "run: echo hi";
/** More than the clusters of one user have places for steps that create machines. */
const many = 64;

/** Launches clusters that get no machine, once what holds them up is over. */
async function launchInVain(world: World, count: number): Promise<() => Promise<unknown>> {
  world.provider.fails("create", new AppError("CloudError", "the cloud is closed"));
  const inputs = Array.from({ length: count }, (_, at) => ({ cluster_name: `slow-${at}`, task }));
  const launches = await Promise.all(inputs.map((input) => world.call(rows.launch, input)));
  const refused = (id: string) =>
    assert.rejects(world.get(rows.launch, id), { type: "CloudError" });
  return () => Promise.all(launches.map(refused));
}

test("clusters whose machines take long hold up no teardown of another one", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task });
  const release = world.provider.holds("create");
  const untilRefused = await launchInVain(world, many);
  await world.provider.held("create");

  await world.run(rows.down, name);

  assert.equal((await world.cluster("demo")).status, "GONE");
  release();
  await untilRefused();
});

test("clusters whose nodes cannot be listed hold up no teardown of another one", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task });
  const { list } = world.provider;
  const hanging = Promise.withResolvers<void>();
  let held = 0;
  const slow: typeof list = async (cluster, signal) => {
    if (cluster.name === "demo") return list(cluster, signal);
    held += 1;
    await hanging.promise;
    return list(cluster, signal);
  };
  Object.assign(world.provider, { list: slow });
  const untilRefused = await launchInVain(world, 24);
  while (held < 24) await setImmediate();

  await world.run(rows.down, name);

  assert.equal((await world.cluster("demo")).status, "GONE");
  hanging.resolve();
  await untilRefused();
});

test("a launch that waits for its machine is taken down at once, and leaves nothing", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const launch = await world.call(rows.launch, { ...name, task });
  await world.provider.held("create");

  const down = await world.call(rows.down, name);
  await until(async () => (await world.cluster("demo")).wanted === "GONE" || undefined);
  release();
  await world.get(rows.down, down);

  await assert.rejects(world.get(rows.launch, launch), { type: "ClusterNotUpError" });
  assert.deepEqual(await world.moves("demo"), ["INIT>GONE"]);
  assert.equal(world.provider.machines.size, 0);
});

test("a launch that fails at one node leaves none that is still being created", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  const { create } = provider;
  const failing: typeof create = async (cluster, rank, signal) => {
    if (rank === 0) fail("CloudError", "the cloud is closed");
    for (let turn = 0; turn < 1_000 && (await world.cluster("demo")).status !== "GONE"; turn += 1)
      await setImmediate();
    await create(cluster, rank, signal);
  };
  Object.assign(provider, { create: failing });

  const launched = world.run(rows.launch, { ...name, task: `num_nodes: 2\n${task}` });

  await assert.rejects(launched, { type: "CloudError" });
  await world.untilStatus("demo", "GONE");
  assert.deepEqual(provider.calls, ["create 1", "destroy 1"]);
});
