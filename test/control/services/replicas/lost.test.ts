import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { until } from "../../../helpers/agent.ts";
import { type ServiceBed, withService } from "../bed.ts";

const notNow = new AppError("CloudError", "not now");
const sendAway = { service_name: "chat", replica_id: 1, purge: false };

/** Resolves once the balancer is told of the first replica no more. */
const untilUnnamed = (bed: ServiceBed) =>
  until(async () => {
    const plan = bed.balancers.of("chat")[0]?.plans.at(-1);
    return plan?.replicas.every(({ id }) => id !== 1) || undefined;
  });

test("what is under way at a replica is not waited for when neither its probe nor its agent is answered", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { clusterId } = await bed.replica(1);
  const { provider } = bed.world;
  provider.agentsStart = false;
  provider.fails("create", notNow);
  await provider.silence(clusterId ?? "", 0);

  const silent = { readiness: "not_ready", problem: "timeout", failingSince: Date.now() } as const;
  bed.balancers.sees(1, { ...silent, open: 1 });
  await bed.untilReplica(1, "NOT_READY");
  bed.world.advance(181_000);
  await bed.look();
  await bed.untilReplica(1, "FAILED_PROBING");

  await untilUnnamed(bed);
  assert.equal((await bed.replica(1)).status, "FAILED_PROBING", "kept, to be looked at");
});

test("what is under way at a replica that goes is not waited for when its machine is lost", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.balancers.sees(1, { open: 1 });
  await bed.world.run(rows.terminateReplica, sendAway);
  await bed.untilReplica(1, "SHUTTING_DOWN");
  bed.world.provider.fails("create", notNow);

  await bed.world.provider.lose((await bed.replica(1)).clusterId ?? "", 0);

  await bed.untilReplica(1, "GONE");
  await untilUnnamed(bed);
});

test("a replica that goes is waited for while its provider and its agent say nothing", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { clusterId } = await bed.replica(1);
  const { provider } = bed.world;
  bed.balancers.sees(1, { open: 1 });
  await bed.world.run(rows.terminateReplica, sendAway);
  await bed.untilReplica(1, "SHUTTING_DOWN");

  provider.agentsStart = false;
  await provider.silence(clusterId ?? "", 0);
  provider.fails("list", notNow);
  await bed.look();
  const { status } = await bed.replica(1);
  const { wanted } = await bed.world.cluster("chat-1");
  provider.fails("list", undefined);

  assert.deepEqual([status, wanted], ["SHUTTING_DOWN", "UP"]);
});

test("what a replica that had its time has under way is waited for no longer, though it stays", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.balancers.sees(1, { open: 1 });
  bed.world.provider.fails("destroy", notNow);
  await bed.world.run(rows.terminateReplica, sendAway);
  await bed.untilReplica(1, "SHUTTING_DOWN");

  bed.world.advance(121_000);
  await bed.look();

  await untilUnnamed(bed);
  await bed.untilReplica(1, "FAILED_CLEANUP");
});
