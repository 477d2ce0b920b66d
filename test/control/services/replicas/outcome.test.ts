import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../helpers/agent.ts";
import { aTask, withService } from "../bed.ts";

const direct = { host: "10.0.0.0", port: 8080 };
const forwarded = { host: "127.0.0.1", port: 20_001 };

test("a replica that answers at its machine's address is not looked for elsewhere", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { provider } = bed.world;
  const place = async () => {
    await bed.look();
    const { host, port } = await bed.replica(1);
    return { host, port };
  };
  const found = { place: forwarded };
  provider.endpoint = async () => `${found.place.host}:${found.place.port}`;

  assert.deepEqual(await place(), direct, "one look from here does not count");
  bed.balancers.sees(1, { readiness: "not_ready", problem: "timeout" });
  assert.deepEqual(await place(), forwarded, "it does not answer there any more");
  bed.balancers.sees(1, { readiness: "ready", problem: null });
  assert.deepEqual(await place(), forwarded);

  found.place = direct;
  assert.deepEqual(await place(), direct, "that needs no control");
  const [told] = bed.balancers.of("chat")[0]?.plans.at(-1)?.replicas ?? [];
  assert.deepEqual({ host: told?.host, port: told?.port }, direct);
});

test("a replica that is lost is drained by no plan, and named by none", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const plans = () => bed.balancers.of("chat")[0]?.plans ?? [];
  const roles = () => plans().map(({ replicas }) => replicas.find(({ id }) => id === 1)?.role);
  bed.balancers.sees(1, { open: 1 });

  await bed.world.provider.lose((await bed.replica(1)).clusterId ?? "", 0);
  await bed.untilReplica(1, "PREEMPTED", "GONE");

  await until(() => roles().at(-1) === undefined || undefined);
  const sinceItServed = roles().slice(roles().indexOf("serving"));
  assert.deepEqual([...new Set(sinceItServed)], ["serving", undefined]);
});

test("a replica that is being preempted is replaced, drained, and let go once it has answered all", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { clusterId } = await bed.replica(1);
  const plans = () => bed.balancers.of("chat")[0]?.plans ?? [];
  bed.balancers.sees(1, { open: 1 });

  bed.world.provider.agentOf(clusterId ?? "").preempt("spot machine reclaimed");
  const { reason } = await bed.untilReplica(1, "PREEMPTED");
  await bed.untilReplica(3, "READY");
  await bed.look();

  assert.match(reason, /its machine is being preempted: spot machine reclaimed/);
  const roles = plans()
    .at(-1)
    ?.replicas.map(({ id, role }) => [id, role]);
  assert.deepEqual(roles, [
    [1, "draining"],
    [2, "serving"],
    [3, "serving"],
  ]);
  assert.equal((await bed.world.cluster("chat-1")).wanted, "UP");
  bed.balancers.sees(1, { open: 0 });
  await bed.untilReplica(1, "GONE");
});

test("a replica that is being preempted serves for longer than draining takes while no other is ready", async (t) => {
  const bed = await withService(t, aTask().replace("replicas: 2", "replicas: 1"));
  await bed.untilReady(1);
  const { clusterId } = await bed.replica(1);
  const wanted = async () => (await bed.world.cluster("chat-1")).wanted;
  bed.balancers.sees(1, { open: 1 });
  bed.balancers.sees(2, { readiness: "not_ready" });
  bed.world.provider.agentOf(clusterId ?? "").preempt("spot machine reclaimed");
  await bed.untilReplica(1, "PREEMPTED");
  await bed.untilReplica(2, "STARTING");

  for (const _ of [1, 2]) {
    bed.world.advance(100_000);
    await bed.look();
    assert.equal(await wanted(), "UP");
    const { status, reason } = await bed.service();
    assert.deepEqual([status, /^only replica 1 serves; /.test(reason)], ["READY", true]);
  }
  bed.balancers.sees(2, { readiness: "ready" });
  await bed.untilReady(2);
  bed.world.advance(100_000);
  await bed.look();
  assert.equal(await wanted(), "UP", "what is under way has its time from here");
  bed.world.advance(21_000);
  await bed.look();
  await bed.untilReplica(1, "GONE");
});
