import assert from "node:assert/strict";
import { test } from "node:test";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { taskOperations as tasks } from "../../../../contract/operations/tasks.ts";
import { until } from "../../../helpers/agent.ts";
import { aTask, type ServiceBed, serviceBed, withService } from "../bed.ts";

const policyOf = (more = "") => `replica_policy: {min_replicas: 2${more}}`;
const onSpot = (policy = policyOf(), resources = "use_spot: true"): string =>
  aTask().replace("replicas: 2", policy).replace("ports: 8080", `ports: 8080, ${resources}`);
const withFallback = onSpot(policyOf(", dynamic_ondemand_fallback: true"));
const hasSpot = { hasSpot: true };

/** Of the clusters of replicas that are ready, which are on spot machines. */
async function spotOf(bed: ServiceBed): Promise<Record<string, boolean>> {
  const { replica_info } = await bed.record();
  const ready = replica_info.filter(({ status }) => status === "READY");
  const kinds = ready.map(async ({ name, is_spot }) => {
    const { offer } = await bed.world.cluster(name);
    assert.equal(is_spot, offer.isSpot ?? false, `${name} is what it is said to be`);
    return [name, is_spot];
  });
  return Object.fromEntries(await Promise.all(kinds));
}

async function untilSpot(bed: ServiceBed, kinds: Record<string, boolean>): Promise<void> {
  const wanted = JSON.stringify(kinds);
  await until(async () => {
    await bed.look();
    return JSON.stringify(await spotOf(bed)) === wanted || undefined;
  });
}

/** The service with no spot machine left from the start. */
async function withNoneLeft(t: Parameters<typeof serviceBed>[0], task: string) {
  const bed = await serviceBed(t, hasSpot);
  const { spotOffer } = bed.world.provider;
  bed.world.provider.spotOffer = undefined;
  await bed.world.run(rows.up, { task, service_name: "chat" });
  return { bed, spotOffer };
}

test("replicas of a task that uses spot are on spot machines, and are replaced there", async (t) => {
  const bed = await withService(t, onSpot(), hasSpot);
  await bed.untilReady(1, 2);
  const { clusterId } = await bed.replica(1);
  await bed.world.provider.lose(clusterId ?? "", 0);

  await untilSpot(bed, { "chat-2": true, "chat-3": true });
});

test("some replicas are never on spot machines where the policy says so", async (t) => {
  const task = onSpot(policyOf(", base_ondemand_fallback_replicas: 1"));
  const bed = await withService(t, task, hasSpot);

  await untilSpot(bed, { "chat-1": false, "chat-2": true });
});

test("a replica that finds no spot machine says so and waits, however long that takes", async (t) => {
  const { bed, spotOffer } = await withNoneLeft(t, onSpot());
  const reason = await until(async () => {
    const { reason } = await bed.replica(1);
    return reason.startsWith("waits") ? reason : undefined;
  });
  bed.world.advance(3_600_000);
  await bed.look();

  assert.match(
    reason,
    /^waits until there is a machine for it: nothing offers any machine on spot; there is on spot: /,
  );
  const { replica_info } = await bed.record();
  assert.deepEqual(
    replica_info.map(({ status, status_reason }) => [status, status_reason]),
    [
      ["PENDING", reason],
      ["PENDING", reason],
    ],
  );
  bed.world.provider.spotOffer = spotOffer;
  await untilSpot(bed, { "chat-1": true, "chat-2": true });
});

test("others stand in for spot machines that are missing, and go once those are there", async (t) => {
  const { bed, spotOffer } = await withNoneLeft(t, withFallback);

  await untilSpot(bed, { "chat-1": false, "chat-2": false });
  bed.world.provider.spotOffer = spotOffer;
  await untilSpot(bed, { "chat-3": true, "chat-4": true });
});

test("where no provider has spot machines a task that asks for them runs on others, and is told so", async (t) => {
  const remark = async (bed: ServiceBed) => {
    const request = await bed.world.call(rows.up, { task: withFallback, service_name: "chat" });
    await bed.world.get(rows.up, request);
    return /no effect here: resources.use_spot/.test(await bed.world.printed(request));
  };
  const without = await serviceBed(t);
  const withSpot = await serviceBed(t, hasSpot);

  assert.deepEqual([await remark(without), await remark(withSpot)], [true, false]);
  await untilSpot(without, { "chat-1": false, "chat-2": false });
  const reasons = [without, withSpot].map(async (bed) => (await bed.record()).target_reason);
  assert.deepEqual(await Promise.all(reasons), [
    "2 replicas are configured; none on a spot machine, as no provider has any",
    "2 replicas are configured",
  ]);
});

test("spot_placer is remarked on, as it makes no difference", async (t) => {
  const { world } = await serviceBed(t, hasSpot);
  const remark = async (policy: string) => {
    const request = await world.call(rows.up, { task: onSpot(policy), service_name: "chat" });
    await world.get(rows.up, request).catch(() => {});
    return /^no effect here: (.*)$/m.exec(await world.printed(request))?.[1];
  };

  const placed = await remark(policyOf(", spot_placer: dynamic_fallback"));

  assert.equal(placed, "service.replica_policy.spot_placer");
  assert.equal(await remark(policyOf()), undefined);
});

test("the plan of a service has the price of spot machines where it uses them and there are any", async (t) => {
  const { world } = await serviceBed(t, hasSpot);
  const { provider } = world;
  const plan = async (task: string) => {
    const asked = { dag: task, request_options: null };
    const printed = await world.printed(await world.call(tasks.optimize, asked));
    return printed.trim().split("\n").at(-1);
  };
  const machine = "fake (H100:8, 4 CPUs, 16 GB";

  const base = onSpot(policyOf(", base_ondemand_fallback_replicas: 1"));
  const spot = `chat: 2 replicas, each 1 × ${machine}, spot), $0.50 an hour`;
  const onDemand = `chat: 2 replicas, each 1 × ${machine}), $2.00 an hour`;
  assert.equal(await plan(onSpot()), spot);
  assert.equal(await plan(base), `${spot}; 1 of them on demand`);
  assert.equal(await plan(aTask()), onDemand);
  provider.spotOffer = undefined;
  assert.equal(await plan(onSpot()), onDemand);
});

test("an infra without spot machines has none, though another provider has", async (t) => {
  const { world } = await serviceBed(t, hasSpot);
  const task = onSpot(policyOf(), "use_spot: true, infra: ssh/lab");

  const request = await world.call(rows.up, { task, service_name: "lab" });
  await assert.rejects(world.get(rows.up, request), { message: /^nothing offers infra ssh.lab/ });

  assert.match(await world.printed(request), /no effect here: resources.use_spot/);
});

test("where candidates differ in it, each kind of replica takes one of its own", async (t) => {
  const policy = policyOf(", base_ondemand_fallback_replicas: 1");
  const anyOf = "any_of: [{use_spot: true, labels: {kind: spot}}, {labels: {kind: other}}]";
  const bed = await withService(t, onSpot(policy, anyOf), hasSpot);

  await untilSpot(bed, { "chat-1": false, "chat-2": true });
  const labels = ["chat-1", "chat-2"].map(async (name) => (await bed.world.cluster(name)).labels);
  assert.deepEqual(await Promise.all(labels), [{ kind: "other" }, { kind: "spot" }]);
});
