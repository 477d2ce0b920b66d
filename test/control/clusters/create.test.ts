import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fail } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { act, type Pass } from "../../../control/clusters/act.ts";
import { noAnswers } from "../../../control/clusters/answers.ts";
import type { Cluster } from "../../../control/clusters/schema.ts";
import { testWorld, type World } from "../../helpers/world.ts";

const minute = 60_000;

/** Has time pass for whoever measures it. */
function pass(t: TestContext, ms: number): void {
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + ms);
}

/** Has a second pass with each look at the clock. */
function hurry(t: TestContext): void {
  const now = performance.now.bind(performance);
  let looks = 0;
  t.mock.method(performance, "now", () => {
    looks += 1;
    return now() + looks * 1_000;
  });
}

/** A pass over a cluster that has observed nothing yet. */
const passOver = ({ ctx }: World, cluster: Cluster): Pass => ({
  ...{ ctx, cluster, open: [], nodes: [], answers: noAnswers() },
  ...{ looksAgain: true, signal: new AbortController().signal },
});

/** A launch whose node is there, and its agent not yet. */
async function launching(t: TestContext) {
  const world = await testWorld(t);
  const { provider } = world;
  provider.agentsStart = false;
  const launch = await world.call(rows.launch, { cluster_name: "demo", task: "{}" });
  await provider.created(0);
  const { id } = await world.cluster("demo");
  const node = provider.machines.get(`${id}-0`)?.node ?? assert.fail("no node");
  return { world, provider, launch, id, node };
}

test("the time that a node's creation takes is not its agent's", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  const ended: string[] = [];
  Object.assign(provider, { endAgent: async (id: string) => void ended.push(id) });
  const { create } = provider;
  const slowly: typeof create = async (...given) => {
    pass(t, minute);
    await create(...given);
    for (const { node } of provider.machines.values())
      node.onCall = () => {
        node.onCall = () => {};
        fail("UnreachableError", "it is still starting");
      };
  };
  Object.assign(provider, { create: slowly });

  await world.run(rows.launch, { cluster_name: "demo", task: "{}" });

  assert.deepEqual(provider.calls, ["create 0"]);
  assert.deepEqual(ended, []);
});

test("an agent that does not answer is taken for hung, and another started", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  const endAgent = async () => {
    provider.calls.push("end");
    provider.agentsStart = true;
  };
  Object.assign(provider, { endAgent });
  provider.agentsStart = false;
  const launch = await world.call(rows.launch, { cluster_name: "demo", task: "{}" });
  await provider.created(0);

  hurry(t);
  await world.get(rows.launch, launch);

  assert.deepEqual(provider.calls.slice(-2), ["end", "create 0"]);
});

for (const step of [60 * minute, -60 * minute])
  test(`a wall clock that is set by ${step / minute} minutes finds no agent hung, and none late`, async (t) => {
    const { world, provider, launch } = await launching(t);
    Object.assign(provider, { endAgent: async () => void provider.calls.push("end") });

    world.advance(step);
    provider.agentsStart = true;
    pass(t, 3_100);
    await world.get(rows.launch, launch);

    assert.deepEqual(provider.calls, ["create 0", "create 0"]);
  });

test("an agent is neither hung nor late because control was frozen while it started", async (t) => {
  const { world, provider, launch } = await launching(t);
  Object.assign(provider, { endAgent: async () => void provider.calls.push("end") });

  provider.agentsStart = true;
  pass(t, 10 * minute);
  await world.get(rows.launch, launch);

  assert.deepEqual(provider.calls, ["create 0", "create 0"]);
});

for (const last of ["configure", "setAutostop"])
  test(`an agent that dies at ${last} is started again, and the launch goes on`, async (t) => {
    const { world, provider, launch, id, node } = await launching(t);
    node.onCall = (name) => {
      if (name !== last) return;
      node.onCall = () => {};
      void provider.silence(id, 0);
    };
    provider.agentsStart = true;
    pass(t, 4_000);
    await world.get(rows.launch, launch);

    assert.equal((await world.cluster("demo")).status, "UP");
    assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
  });

test("an agent that dies each time that it is spoken to fails its launch", async (t) => {
  const { world, provider, launch, id, node } = await launching(t);
  let deaths = 0;
  node.onCall = (name) => {
    if (name !== "setAutostop") return;
    deaths += 1;
    void provider.silence(id, 0);
  };
  provider.agentsStart = true;
  pass(t, 4_000);

  await assert.rejects(world.get(rows.launch, launch), { type: "UnreachableError" });
  assert.ok(deaths >= 4, `${deaths} deaths`);
});

test("an agent that always comes back with another build fails its launch", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  const ended: string[] = [];
  const endAgent = async (id: string) => void ended.push(id);
  Object.assign(provider, { agentBuild: "ours", endAgent });

  await assert.rejects(world.run(rows.launch, { cluster_name: "demo", task: "{}" }), {
    type: "CloudError",
    message: /node 0 of demo has an agent of build 0 again .* replaced by build ours: .* stop that/,
  });

  assert.ok(ended.length >= 3, `${ended.length} turns`);
});

test("a cluster that such an agent comes to tells of it, and is tried again at the pace of failures", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  await world.run(rows.launch, { cluster_name: "demo", task: "{}" });
  const { id } = await world.cluster("demo");
  assert.equal(world.ctx.watches.has(id), true);
  Object.assign(provider, { agentBuild: "ours", endAgent: async () => {} });
  await world.look("demo");

  const { status, problem } = await world.cluster("demo");
  assert.deepEqual([status, problem?.type], ["INIT", "CloudError"]);
  assert.equal(world.ctx.watches.has(id), false, "no agent that comes or goes hurries it");

  Object.assign(provider, { agentBuild: "0" });
  await world.look("demo");
  assert.equal((await world.cluster("demo")).status, "UP");
  assert.equal(world.ctx.watches.has(id), true);
});

test("a cluster on which there is always something to do fails its launch", async (t) => {
  const { world, provider, launch } = await launching(t);
  const { list } = provider;
  let looks = 0;
  const withNewAddress: typeof list = async (...given) => {
    looks += 1;
    return (await list(...given)).map((node) => ({ ...node, address: `10.0.0.${looks}` }));
  };
  Object.assign(provider, { list: withNewAddress });
  provider.agentsStart = true;
  hurry(t);

  await assert.rejects(world.get(rows.launch, launch), {
    type: "CloudError",
    message: /^cluster demo does not become stable/,
  });
});

for (const name of ["revive", "replace"] as const)
  test(`a node that is lost before its agent is brought back is not made again: ${name}`, async (t) => {
    const world = await testWorld(t);
    await world.run(rows.launch, { cluster_name: "demo", task: "{}" });
    const cluster = await world.cluster("demo");
    await world.provider.lose(cluster.id, 0);

    await act(passOver(world, cluster), { do: name, rank: 0 });

    assert.deepEqual(world.provider.calls, ["create 0"]);
  });

for (const name of ["revive", "replace"] as const)
  test(`a node that is lost while its agent is brought back is not made again: ${name}`, async (t) => {
    const world = await testWorld(t);
    const { provider } = world;
    await world.run(rows.launch, { cluster_name: "demo", task: "{}" });
    const cluster = await world.cluster("demo");
    await world.reconciling.stop();
    provider.agentsStart = false;
    await provider.silence(cluster.id, 0);
    let creations = 0;
    const takenAway = async () => {
      creations += 1;
      await provider.lose(cluster.id, 0);
    };
    Object.assign(provider, { create: takenAway });

    hurry(t);
    await act(passOver(world, cluster), { do: name, rank: 0 });

    assert.equal(creations, 1);
  });

test("an agent that has started by itself meanwhile is not brought back", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { cluster_name: "demo", task: "{}" });
  const cluster = await world.cluster("demo");

  await act(passOver(world, cluster), { do: "revive", rank: 0 });

  assert.deepEqual(world.provider.calls, ["create 0"]);
});
