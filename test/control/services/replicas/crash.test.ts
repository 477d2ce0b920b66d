import assert from "node:assert/strict";
import { test } from "node:test";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { listLive } from "../../../../control/clusters/list-store.ts";
import { setReplica } from "../../../../control/services/replicas/store.ts";
import { until } from "../../../helpers/agent.ts";
import { writable } from "../../../helpers/writable.ts";
import { aTask, type ServiceBed, serviceBed, withService } from "../bed.ts";

/** Control is killed at some step of a replica; there is one cluster and one job of it all the same. */

const one = aTask().replace("replicas: 2", "replicas: 1");
const chat = { task: one, service_name: "chat" };

async function hasOneOfEach({ world, job }: ServiceBed): Promise<void> {
  const live = await listLive(world.ctx.db);
  assert.deepEqual(
    live.map(({ name }) => name),
    ["chat-1"],
  );
  assert.equal(world.provider.machines.size, 1);
  const { submission } = await job(1);
  const [machine] = world.provider.machines.values();
  assert.deepEqual(
    machine?.node.jobs.map(({ submissionId }) => submissionId),
    [submission.submissionId],
  );
}

for (const duty of ["create", "list"] as const)
  test(`killed while its cluster is made, at ${duty}`, async (t) => {
    const bed = await serviceBed(t);
    const release = bed.world.provider.holds(duty);
    await bed.world.run(rows.up, chat);
    await bed.world.provider.held(duty);

    const after = await bed.crash();
    release();
    await after.untilReplica(1, "READY");

    await hasOneOfEach(after);
  });

test("killed once its cluster is written down, and it does not know that yet", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReplica(1, "READY");
  await writable(bed.world.ctx)
    .updateTable("replicas")
    .set({ status: "PENDING", cluster_id: null, job_id: null, host: null, run_at: null })
    .execute();

  const after = await bed.crash();
  await after.untilReplica(1, "READY");

  await hasOneOfEach(after);
});

test("sent away once its cluster is written down, and it does not know that yet", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReplica(1, "READY");
  await writable(bed.world.ctx)
    .updateTable("replicas")
    .set({ status: "PENDING", wanted: "GONE", cluster_id: null, job_id: null, host: null })
    .execute();

  const after = await bed.crash();
  await after.untilReplica(1, "GONE");

  const live = await listLive(after.world.ctx.db);
  assert.ok(!live.some(({ name }) => name === "chat-1"));
});

test("killed once its task was submitted, and it does not know that yet", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReplica(1, "READY");
  await writable(bed.world.ctx)
    .updateTable("replicas")
    .set({ status: "PROVISIONING", job_id: null, host: null, run_at: null })
    .execute();

  const after = await bed.crash();
  await after.untilReplica(1, "READY");

  await hasOneOfEach(after);
});

test("killed while all is well: nothing happens, and it is probed on", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReplica(1, "READY");
  const { statusChangedAt } = await bed.replica(1);

  const after = await bed.crash();
  await until(async () => after.world.ctx.balancers.seen((await after.service()).id));
  await after.look();

  assert.equal((await after.replica(1)).statusChangedAt, statusChangedAt);
  assert.equal(after.balancers.of("chat").length, 1, "the balancer is adopted");
  await hasOneOfEach(after);
});

test("killed while a replica starts: what control was away for does not count", async (t) => {
  const bed = await withService(t, one, { usually: {} });
  const { id } = await until(async () => {
    const replica = await bed.replica(1);
    return replica.status === "STARTING" && replica.runAt !== null ? replica : undefined;
  });
  const longAgo = bed.world.ctx.now().getTime() - 2_000_000;
  await bed.world.ctx.batch((tx) => setReplica(tx, id, { runAt: longAgo }));

  const after = await bed.crash();
  after.balancers.sees(1, { problem: "refused", failingSince: 1 });
  await until(async () => after.world.ctx.balancers.seen((await after.service()).id));
  await after.look();
  const { status } = await after.replica(1);
  after.world.advance(1_201_000);
  await after.look();
  await after.untilReplica(1, "FAILED_INITIAL_DELAY");

  assert.equal(status, "STARTING");
});

test("killed while a replica is drained: it is drained on, and goes", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReplica(1, "READY");
  bed.balancers.sees(1, { open: 1 });
  await bed.world.run(rows.terminateReplica, { service_name: "chat", replica_id: 1 });
  await bed.untilReplica(1, "SHUTTING_DOWN");

  const after = await bed.crash();
  await after.untilReplica(2, "READY");
  await after.look();
  const { wanted } = await after.world.cluster("chat-1");
  after.balancers.sees(1, { open: 0 });
  await after.untilReplica(1, "GONE");

  assert.equal(wanted, "UP", "while something was open there");
});

test("nothing goes to a replica that leaves before its balancer knows that it does", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReplica(1, "READY");
  const { revision = 0 } = bed.balancers.of("chat")[0]?.plans.at(-1) ?? {};
  bed.balancers.tells({ revision });

  await bed.world.run(rows.terminateReplica, { service_name: "chat", replica_id: 1 });
  await bed.untilReplica(1, "SHUTTING_DOWN");
  await bed.look();
  const { wanted } = await bed.world.cluster("chat-1");
  bed.balancers.tells({});
  await bed.untilReplica(1, "GONE");

  assert.equal(wanted, "UP");
});
