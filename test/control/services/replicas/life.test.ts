import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import { clusterOperations as clusters } from "../../../../contract/operations/clusters.ts";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { until } from "../../../helpers/agent.ts";
import { aTask, type ServiceBed, serviceBed, withService } from "../bed.ts";

const one = aTask().replace("replicas: 2", "replicas: 1");

const agentOf = async ({ world, replica }: ServiceBed, number: number) =>
  world.provider.agentOf((await replica(number)).clusterId ?? "");

test("a replica whose machine is gone is PREEMPTED and replaced", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { clusterId, id } = await bed.replica(1);
  const { provider } = bed.world;

  await provider.lose(clusterId ?? "", 0);
  await bed.untilReplica(1, "PREEMPTED", "GONE");
  await bed.untilReplica(3, "READY");
  await bed.untilReplica(1, "GONE");

  const moved = bed.world.logged.map((line) => JSON.parse(line)).filter((one) => one.id === id);
  assert.match(
    moved.find(({ to }) => to === "PREEMPTED").reason,
    /its machine (is gone|was replaced)/,
  );
  assert.equal((await bed.world.cluster("chat-1")).wanted, "GONE");
  assert.equal(bed.balancers.of("chat")[0]?.plans.at(-1)?.replicas.length, 2);
});

test("a machine that was replaced behind a replica's back is noticed by its job", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { node } = await agentOf(bed, 1);

  node.jobs.length = 0;
  await bed.look();

  await bed.untilReplica(3, "READY");
});

test("a node that is silent for a while changes nothing", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { clusterId } = await bed.replica(1);
  bed.world.provider.agentsStart = false;
  bed.world.provider.fails("create", new AppError("CloudError", "not now"));
  await bed.world.provider.silence(clusterId ?? "", 0);

  await bed.world.untilStatus("chat-1", "INIT");
  bed.world.advance(3_600_000);
  await bed.look();

  const { replica_info, status } = await bed.record();
  assert.deepEqual(
    replica_info.map((one) => [one.replica_id, one.status]),
    [
      [1, "READY"],
      [2, "READY"],
    ],
  );
  assert.equal(status, "READY");
});

test("a balancer that is not heard says nothing against a replica", async (t) => {
  const bed = await withService(t, aTask(), { usually: { problem: "503", failingSince: 1 } });
  await bed.untilReplica(1, "STARTING");
  bed.balancers.fails("keep", new AppError("UnreachableError", "busy"));
  bed.balancers.kill("chat");

  bed.world.advance(3_600_000);
  await bed.look();

  assert.equal((await bed.replica(1)).status, "STARTING");
});

test("a job that ended is why its replica FAILED, with the last lines and without secrets", async (t) => {
  const secrets = "secrets: {TOKEN: very-secret}";
  const bed = await withService(t, aTask("", secrets));
  await bed.untilReady(1, 2);
  const agent = await agentOf(bed, 1);
  const lines = [...Array(30).keys()].map((at) => `line ${at}`);
  agent.print(1, `${lines.join("\n")}\ntoken very-secret is wrong\n`);

  agent.end(1, "FAILED");
  const { reason } = await bed.untilReplica(1, "FAILED");
  await bed.untilReplica(3, "READY");

  assert.match(reason, /^FAILED; it printed last:\n/);
  assert.ok(reason.endsWith("line 29\ntoken [secret] is wrong"), reason);
  await bed.world.untilStatus("chat-1", "GONE");
  const [failed] = (await bed.record()).replica_info;
  assert.deepEqual([failed?.replica_id, failed?.status], [1, "FAILED"], "kept, to be looked at");
  assert.equal(failed?.status_reason, reason);
});

test("a replica whose run ended with 0 has the status of one that answers no probe", async (t) => {
  const bed = await withService(t, aTask(), { usually: {} });
  bed.balancers.sees(2, { readiness: "ready" });
  await bed.untilReplica(2, "READY");
  await bed.untilReplica(1, "STARTING");

  for (const number of [1, 2]) (await agentOf(bed, number)).end(1, "SUCCEEDED");
  const unready = await bed.untilReplica(1, "FAILED_INITIAL_DELAY");
  const ready = await bed.untilReplica(2, "FAILED_PROBING");

  for (const { reason } of [unready, ready]) assert.match(reason, /^its run ended with 0/);
});

for (const [taken, told] of [
  [9000, /its port is taken: the server must listen on \$PORT, which is 8080/],
  [8080, /its \$PORT, 8080, is taken: another replica may listen there/],
] as const)
  test(`a server that finds port ${taken} taken is told what helps`, async (t) => {
    const bed = await withService(t);
    await bed.untilReady(1, 2);
    const agent = await agentOf(bed, 1);

    agent.print(1, `Error: listen EADDRINUSE: address already in use 0.0.0.0:${taken}\n`);
    agent.end(1, "FAILED");
    const { reason } = await bed.untilReplica(1, "FAILED");

    assert.match(reason, told);
  });

test("a replica that is not ready in time fails by what last probe", async (t) => {
  const bed = await withService(t, aTask("  max_surge: 1"), { usually: {} });
  bed.balancers.sees(2, { readiness: "ready" });
  await bed.untilReplica(2, "READY");
  await until(async () => (await bed.replica(1)).host ?? undefined);
  bed.world.advance(1_201_000);

  bed.balancers.sees(1, { problem: "refused", failingSince: 1 });
  const { reason } = await bed.untilReplica(1, "FAILED_INITIAL_DELAY");

  assert.match(reason, /not ready 1200 s after its run began: refused/);
});

test("a replica that stops answering is NOT_READY, then READY again or FAILED_PROBING", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);

  bed.balancers.sees(1, { readiness: "not_ready", problem: "503", failingSince: Date.now() });
  await bed.untilReplica(1, "NOT_READY");
  bed.balancers.sees(1, { readiness: "ready", problem: null, failingSince: null });
  await bed.untilReplica(1, "READY");
  bed.balancers.sees(1, { readiness: "not_ready", problem: "503", failingSince: Date.now() });
  await bed.untilReplica(1, "NOT_READY");
  bed.world.advance(181_000);
  await bed.look();
  const { reason } = await bed.untilReplica(1, "FAILED_PROBING");

  assert.match(reason, /failed its probe for 180 s: 503/);
  await bed.untilReplica(3, "READY");
});

test("a replica that answers no probe finishes what is under way there, while another takes its place", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const plan = () => bed.balancers.of("chat")[0]?.plans.at(-1);
  const role = () => plan()?.replicas.find(({ id }) => id === 1)?.role;
  const down = { readiness: "not_ready", problem: "503", failingSince: Date.now() } as const;
  bed.balancers.sees(1, { ...down, open: 1 });
  await bed.untilReplica(1, "NOT_READY");
  bed.world.advance(181_000);
  await bed.look();
  await bed.untilReplica(1, "FAILED_PROBING");
  await bed.untilReplica(3, "READY");
  await bed.look();

  assert.deepEqual([role(), (await bed.world.cluster("chat-1")).wanted], ["draining", "UP"]);

  bed.balancers.sees(1, { open: 0 });
  await bed.world.untilStatus("chat-1", "GONE");
  await until(async () => role() === undefined || undefined);
  assert.equal((await bed.replica(1)).status, "FAILED_PROBING", "kept, to be looked at");
});

test("a replica that answers no probe and does not finish goes after two minutes", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const down = { readiness: "not_ready", problem: "503", failingSince: Date.now() } as const;
  bed.balancers.sees(1, { ...down, open: 1 });
  await bed.untilReplica(1, "NOT_READY");
  bed.world.advance(181_000);
  await bed.look();
  await bed.untilReplica(1, "FAILED_PROBING");
  await bed.look();
  const { wanted } = await bed.world.cluster("chat-1");
  bed.world.advance(121_000);
  await bed.look();
  await bed.world.untilStatus("chat-1", "GONE");

  assert.equal(wanted, "UP", "while it was drained");
});

test("a machine that comes free, or is added, is used by the next replica without a pause", async (t) => {
  const bed = await serviceBed(t);
  const { provider } = bed.world;
  const { offer } = provider;
  provider.offer = undefined;
  await bed.world.run(rows.up, { task: one, service_name: "chat" });
  const newest = async () => (await bed.record()).replica_info.at(-1)?.replica_id ?? 0;
  const failed = await until(async () => {
    bed.world.advance(600_000);
    await bed.look();
    return (await newest()) >= 8 ? newest() : undefined;
  });
  await bed.untilReplica(failed, "FAILED_PROVISION");
  await bed.look();
  assert.equal(await newest(), failed, "the next one is to come minutes later");

  provider.offer = offer;
  await bed.look();
  await bed.untilReplica(failed + 1, "READY");
});

test("of replicas that failed the newest ten are kept, and for an hour once others are ready", async (t) => {
  const bed = await withService(t, one, { usually: {} });
  const failed = async () =>
    (await bed.record()).replica_info
      .filter(({ status }) => status === "FAILED")
      .map(({ replica_id }) => replica_id);
  for (let number = 1; number <= 12; number += 1) {
    await until(async () => {
      bed.world.advance(600_000);
      await bed.look();
      const numbers = (await bed.record()).replica_info.map(({ replica_id }) => replica_id);
      return numbers.includes(number) || undefined;
    });
    await bed.untilReplica(number, "STARTING");
    (await agentOf(bed, number)).end(1, "FAILED");
    await bed.untilReplica(number, "FAILED");
  }

  await until(async () => {
    await bed.look();
    return (await failed()).length <= 10 || undefined;
  });
  assert.deepEqual(await failed(), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);

  bed.balancers.sees(13, { readiness: "ready" });
  await until(async () => {
    bed.world.advance(600_000);
    await bed.look();
    return (await failed()).length === 0 || undefined;
  });
});

for (const [what, command] of Object.entries({
  stop: clusters.stop,
  down: clusters.down,
}))
  test(`${what} of a replica's cluster is refused: its service looks after it`, async (t) => {
    const bed = await withService(t);
    await bed.untilReplica(1, "READY");

    await assert.rejects(bed.world.run(command, { cluster_name: "chat-1" }), {
      type: "ConflictError",
      message:
        "cluster chat-1 is part of service chat, which manages it; outrigger serve says what can be done",
    });
  });

test("other commands on a replica's cluster are refused as well", async (t) => {
  const bed = await withService(t);
  await bed.untilReplica(1, "READY");
  const refused = { type: "ConflictError", message: /is part of service chat/ };
  const name = { cluster_name: "chat-1" };

  await assert.rejects(bed.world.run(clusters.launch, { ...name, task: "run: ls" }), refused);
  await assert.rejects(bed.world.run(clusters.exec, { ...name, task: "run: ls" }), refused);
  await assert.rejects(bed.world.run(clusters.cancel, { ...name, job_ids: [1] }), refused);
  await assert.rejects(bed.world.run(clusters.start, name), refused);
  await assert.rejects(bed.world.run(clusters.autostop, { ...name, idle_minutes: 5 }), refused);
});

test("clusters of replicas are shown to whom names them, and to nobody else", async (t) => {
  const bed = await withService(t);
  await bed.untilReplica(1, "READY");
  const named = async (cluster_names: string[] | null) =>
    (await bed.world.run(clusters.status, { cluster_names })).map(({ name }) => name);

  assert.deepEqual(await named(null), []);
  assert.deepEqual(await named(["chat-1"]), ["chat-1"]);
});
