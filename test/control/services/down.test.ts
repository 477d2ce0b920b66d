import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { serveOperations as rows } from "../../../contract/operations/serve.ts";
import { listEvents } from "../../../control/events.ts";
import { down } from "../../../control/services/down.ts";
import { findService, listLiveServices } from "../../../control/services/store.ts";
import { until } from "../../helpers/agent.ts";
import { aCall } from "../clusters/a-call.ts";
import { aTask, serviceBed, withService } from "./bed.ts";

const chat = { service_names: "chat", all: false };
const stays = new AppError("CloudError", "the cloud is closed");

test("down waits until replicas and balancer are gone, and what is open is finished", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.balancers.sees(1, { open: 1 });

  const request = await bed.world.call(rows.down, chat);
  await bed.untilReplica(2, "GONE");
  const [balancer] = bed.balancers.of("chat");
  const closing = balancer?.plans.at(-1);
  const { status, wanted } = await bed.world.cluster("chat-1");
  bed.balancers.sees(1, { open: 0 });
  await bed.world.get(rows.down, request);

  assert.deepEqual({ status, wanted }, { status: "UP", wanted: "UP" });
  assert.deepEqual(closing?.replicas.map(({ id, role }) => [id, role]).at(0), [1, "draining"]);
  assert.equal(closing?.hold.requests, 0);
  assert.equal(balancer?.endedWithin, 0);
  assert.equal(bed.world.provider.machines.size, 0);
  assert.deepEqual(await bed.world.run(rows.status, { service_names: null }), []);
  const printed = await bed.world.printed(request);
  assert.match(
    printed,
    /^Service 'chat' is scheduled to be terminated\.\nService chat is gone\.\n/,
  );
});

test("what does not finish is cut once its time is over", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.balancers.sees(1, { open: 1 });
  const request = await bed.world.call(rows.down, chat);
  await bed.untilReplica(2, "GONE");
  await bed.untilReplica(1, "SHUTTING_DOWN");

  bed.world.advance(60_000);
  await bed.look();
  const before = (await bed.world.cluster("chat-1")).wanted;
  bed.world.advance(60_000);
  await bed.look();
  await bed.world.get(rows.down, request);

  assert.equal(before, "UP");
});

test("names, patterns and all choose services; one or the other must be given", async (t) => {
  const { world } = await serviceBed(t);
  for (const service_name of ["web-1", "web-2", "chat", "mail"])
    await world.run(rows.up, { task: aTask(), service_name });
  const left = async () => (await listLiveServices(world.ctx.db)).map(({ name }) => name).sort();

  await world.run(rows.down, { service_names: ["web-*", "chat"], all: false });
  assert.deepEqual(await left(), ["mail"]);
  const id = await world.call(rows.down, { service_names: ["nobody"], all: false });
  await world.get(rows.down, id);
  assert.match(await world.printed(id), /No service is named nobody\./);
  for (const given of [
    { service_names: null, all: false },
    { service_names: [], all: false },
    { service_names: "mail", all: true },
  ])
    await assert.rejects(world.run(rows.down, given), {
      type: "ValueError",
      message: "give either service_names or all",
    });

  await world.run(rows.down, { service_names: null, all: true });
  assert.deepEqual(await left(), []);
  const again = await world.call(rows.down, { service_names: null, all: true });
  await world.get(rows.down, again);
  assert.match(await world.printed(again), /There is no service to take down\./);
});

test("what cannot be removed is said, tried on, and forgotten by purge", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { id } = await bed.service();
  bed.world.provider.fails("destroy", stays);

  await assert.rejects(bed.world.run(rows.down, chat), {
    type: "RuntimeError",
    message: /service chat: replica \d cannot be removed: the cloud is closed; .*--purge chat/,
  });
  const { status, status_reason } = await bed.record();
  assert.equal(status, "FAILED_CLEANUP");
  assert.match(status_reason ?? "", /the cloud is closed/);
  await bed.untilReplica(1, "FAILED_CLEANUP");

  await bed.world.run(rows.down, { ...chat, purge: true });

  assert.equal((await findService(bed.world.ctx.db, id))?.status, "GONE");
  assert.equal(bed.balancers.of("chat")[0]?.endedWithin, 0);
  const events = await listEvents(bed.world.ctx.db, "service", id, { kinds: ["ends"], limit: 1 });
  assert.match(events[0]?.reason ?? "", /purged, and may have left something: .*cloud is closed/);
  assert.equal(bed.world.provider.machines.size, 2, "they are still there, and tried on");
  bed.world.provider.fails("destroy", undefined);
  await until(() => bed.world.provider.machines.size === 0 || undefined);
});

test("once it can be removed after all, a service that could not be is gone by itself", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { id } = await bed.service();
  bed.world.provider.fails("destroy", stays);
  await assert.rejects(bed.world.run(rows.down, chat), { type: "RuntimeError" });

  bed.world.provider.fails("destroy", undefined);

  await until(
    async () => (await findService(bed.world.ctx.db, id))?.status === "GONE" || undefined,
  );
});

test("a cluster that is left of a purged service may be purged too", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.world.provider.fails("destroy", stays);
  await assert.rejects(bed.world.run(rows.down, chat), { type: "RuntimeError" });
  await bed.world.run(rows.down, { ...chat, purge: true });

  await bed.world.run(clusters.down, { cluster_name: "chat-1", purge: true });

  assert.equal((await bed.world.cluster("chat-1")).status, "GONE");
});

test("control that is killed while a service goes down ends its balancer all the same", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.balancers.sees(1, { open: 1 });
  const request = await bed.world.call(rows.down, chat);
  await bed.untilReplica(2, "GONE");

  const after = await bed.crash();
  bed.balancers.sees(1, { open: 0 });
  await after.world.get(rows.down, request);

  assert.deepEqual(
    bed.balancers.of("chat").map(({ endedWithin }) => endedWithin),
    [0],
    "and starts none",
  );
});

test("a service whose balancer is gone has nothing to finish", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.balancers.sees(1, { open: 1 });
  bed.balancers.fails("keep", new AppError("RuntimeError", "cannot start"));
  bed.balancers.kill("chat");

  await bed.world.run(rows.down, chat);

  assert.equal(bed.balancers.of("chat").length, 1);
});

test("a second attempt at a down spares who came up under the name since the first", async (t) => {
  const bed = await withService(t);
  const { id } = await bed.service();
  await bed.world.run(rows.down, chat);
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });

  await down(
    bed.world.ctx,
    { ...chat, purge: false } as never,
    aCall(bed.world.ctx, { serviceIds: [id] }),
  );

  assert.equal((await bed.service()).wanted, "UP");
});
