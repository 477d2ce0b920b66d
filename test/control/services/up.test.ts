import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { serveOperations as rows } from "../../../contract/operations/serve.ts";
import { listLiveServices } from "../../../control/services/store.ts";
import { until } from "../../helpers/agent.ts";
import { aTask, serviceBed, withService } from "./bed.ts";

const chat = { task: aTask(), service_name: "chat" };

test("a service that is brought up has an address, replicas that run its task, and is READY", async (t) => {
  const { world, untilService, job } = await serviceBed(t);

  const [name, endpoint] = await world.run(rows.up, chat);
  await untilService("READY");

  assert.equal(name, "chat");
  assert.match(endpoint, /^http:\/\/127\.0\.0\.1:3\d{4}$/);
  const { submission } = await job(2);
  assert.equal(submission.run, "serve");
  assert.deepEqual(
    ["PORT", "OUTRIGGER_REPLICA_PORT", "SKYPILOT_REPLICA_PORT"].map((env) => submission.env[env]),
    ["8080", "8080", "8080"],
  );
  assert.equal((await world.cluster("chat-1")).madeFor?.what, "service chat");
});

const beginnings: readonly [string, RegExp][] = [
  ["replicas: 2", /; its replicas are being brought up\.$/m],
  ["replicas: 0", /; it has no replicas, as configured\.$/m],
  [
    "replica_policy: {min_replicas: 0, max_replicas: 2, target_qps_per_replica: 1}",
    /; it starts a replica on the first request\.$/m,
  ],
];

for (const [replicas, told] of beginnings)
  test(`who brings a service of ${replicas} up is told ${told.source}`, async (t) => {
    const { world } = await serviceBed(t);
    const task = aTask().replace("replicas: 2", replicas);

    const id = await world.call(rows.up, { task, service_name: "chat" });
    await world.get(rows.up, id);

    assert.match(await world.printed(id), told);
  });

for (const name of ["", "1chat", "chat-", "ch at", "a/b", "é", "a".repeat(121)])
  test(`${JSON.stringify(name.slice(0, 10))} cannot name a service`, async (t) => {
    const { world } = await serviceBed(t);

    await assert.rejects(world.run(rows.up, { ...chat, service_name: name }), {
      type: "ValueError",
      message: /cannot name a service: begin with a letter/,
    });
  });

test("a task without a service section is refused at once, and says what is missing", async (t) => {
  const { world } = await serviceBed(t);

  await assert.rejects(world.run(rows.up, { ...chat, task: "run: serve" }), {
    type: "ValueError",
    message: /no `service` section/,
  });
});

test("a task that starts no server is refused at once", async (t) => {
  const { world } = await serviceBed(t);
  const task = aTask().replace("run: serve", "setup: pip install server");

  await assert.rejects(world.run(rows.up, { ...chat, task }), {
    type: "ValueError",
    message: /no `run`/,
  });
});

test("what is wrong in the section is said with its place", async (t) => {
  const { world } = await serviceBed(t);
  const task = "run: serve\nservice:\n  ports: 8080\n  replicas: many\n";

  await assert.rejects(world.run(rows.up, { ...chat, task }), {
    type: "InvalidTaskError",
    message: /line 4, column 3: must be a whole number/,
  });
});

test("a name that a live service has is refused, and free again once that is gone", async (t) => {
  const { world, untilService } = await withService(t);
  await untilService("READY");

  await assert.rejects(world.run(rows.up, chat), {
    type: "ConflictError",
    message: /there is a service chat; update it, or take it down first/,
  });
  await world.run(rows.down, { service_names: "chat", all: false });
  await world.run(rows.up, chat);

  await untilService("READY");
});

test("of two ups of one name at once one makes the service, and the other is refused", async (t) => {
  const { world } = await serviceBed(t);

  const results = await Promise.allSettled([world.run(rows.up, chat), world.run(rows.up, chat)]);

  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const refused = results.find((one) => one.status === "rejected");
  assert.equal(refused?.reason.type, "ConflictError");
  assert.equal((await listLiveServices(world.ctx.db)).length, 1);
});

test("services that come up at once listen on ports of their own", async (t) => {
  const { world } = await serviceBed(t);
  const names = ["a", "b", "c", "d"];

  const up = await Promise.all(
    names.map((service_name) => world.run(rows.up, { ...chat, service_name })),
  );

  assert.equal(new Set(up.map(([, endpoint]) => endpoint)).size, names.length);
});

test("control killed while a service comes up makes no second one, and the request goes on", async (t) => {
  const bed = await serviceBed(t);
  bed.balancers.fails("keep", new AppError("UnreachableError", "busy"));
  const id = await bed.world.call(rows.up, chat);
  await bed.untilService("CONTROLLER_INIT");

  const after = await bed.crash();
  after.balancers.fails("keep", undefined);
  const [name] = await after.world.get(rows.up, id);

  assert.equal(name, "chat");
  await after.untilService("READY");
  assert.deepEqual(
    (await after.record()).replica_info.map(({ replica_id }) => replica_id),
    [1, 2],
  );
});

test("a balancer that cannot start is why the service is CONTROLLER_FAILED, until it can", async (t) => {
  const bed = await serviceBed(t);
  bed.balancers.fails("plan", new AppError("ConfigError", "port 30001 is taken"));

  await assert.rejects(bed.world.run(rows.up, chat), {
    type: "RuntimeError",
    message: /port 30001 is taken/,
  });
  const { status, status_reason } = await bed.record();
  bed.balancers.fails("plan", undefined);
  await bed.untilService("READY");

  assert.deepEqual([status, status_reason], ["CONTROLLER_FAILED", "port 30001 is taken"]);
  await bed.untilReady(1, 2);
  await bed.look();
  assert.equal((await bed.record()).status_reason, "2 of 2 are ready");
});

test("a balancer that only does not answer is not called failed", async (t) => {
  const bed = await withService(t);
  await bed.untilService("READY");
  bed.balancers.fails("keep", new AppError("UnreachableError", "busy"));

  await bed.look();

  const { status } = await bed.service();
  assert.equal(status, "READY");
});

test("a cluster of a user that has a replica's name costs that replica, and the next one has another", async (t) => {
  const bed = await serviceBed(t);
  await bed.world.run(clusters.launch, { cluster_name: "chat-1", task: "run: 'true'" });

  await bed.world.run(rows.up, chat);
  const { reason } = await bed.untilReplica(1, "FAILED_PROVISION");
  await bed.untilReplica(3, "READY");

  assert.match(reason, /cluster chat-1 already exists/);
  const { madeFor, status } = await bed.world.cluster("chat-1");
  assert.deepEqual({ madeFor, status }, { madeFor: null, status: "UP" });
});

test("what nothing will ever offer is refused at once, and leaves no service, or the version as it was", async (t) => {
  const { world, record } = await withService(t);
  const task = aTask().replace("ports: 8080", "ports: 8080, accelerators: B200:8");
  const error = {
    type: "ResourcesUnavailableError",
    message: /^nothing offers B200:8; there is: /,
  };

  await assert.rejects(world.run(rows.up, { task, service_name: "other" }), error);
  await assert.rejects(
    world.run(rows.update, { task, service_name: "chat", mode: "rolling" }),
    error,
  );

  assert.equal((await record()).version, 1);
  assert.equal((await listLiveServices(world.ctx.db)).length, 1);
});

test("no machine for a replica is said of it, and it is tried again ever later", async (t) => {
  const bed = await serviceBed(t);
  await bed.world.run(rows.up, { ...chat, task: aTask("").replace("replicas: 2", "replicas: 1") });
  await bed.untilReplica(1, "READY");
  const { offer } = bed.world.provider;
  bed.world.provider.offer = undefined;
  bed.world.provider.agentOf((await bed.replica(1)).clusterId ?? "").end(1, "FAILED");

  // It waits for the machine of the first one, and is looked at from time to time.
  await until(async () => {
    await bed.look();
    return (await bed.record()).replica_info.find(({ status }) => status === "FAILED_PROVISION");
  });
  bed.world.provider.offer = offer;
  bed.world.advance(11_000);
  await until(async () => {
    await bed.look();
    return (await bed.record()).replica_info.find(({ status }) => status === "READY");
  });

  assert.equal((await bed.service()).status, "READY");
});
