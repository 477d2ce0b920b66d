import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { explainOperations } from "../../../contract/operations/explain.ts";
import { workspaceOperations as rows } from "../../../contract/operations/workspaces.ts";
import { collectClusters } from "../../../control/clusters/collect.ts";
import { workspaceBed } from "./bed.ts";

const hourMs = 3_600_000;

/** A bed whose default workspace has limits; its machines have 8 GPUs and cost $2 an hour. */
async function limitedBed(t: Parameters<typeof workspaceBed>[0], limits: Record<string, number>) {
  const bed = await workspaceBed(t);
  const ann = await bed.person("ann");
  const limit = (more: Record<string, unknown>) =>
    bed.admin.run(rows.update, { workspace_name: "default", config: more });
  await limit({ limits });
  return { ...bed, ann, limit };
}

const refused = (message: RegExp) => ({ type: "UserRequestRejectedByPolicy", message });

test("of two launches at once only one gets the last place", async (t) => {
  const { ann } = await limitedBed(t, { clusters: 1 });

  const outcomes = await Promise.allSettled([ann.launch("a"), ann.launch("b")]);

  const [loser] = outcomes.filter((one) => one.status === "rejected");
  assert.equal(outcomes.filter((one) => one.status === "fulfilled").length, 1);
  assert.equal(loser?.reason.type, "UserRequestRejectedByPolicy");
  assert.equal(
    loser?.reason.message,
    "workspace default: 1 of 1 clusters are in use, and this takes 1 (clusters)",
  );
});

test("a stopped cluster has no place, and takes one when it is started", async (t) => {
  const { ann, world } = await limitedBed(t, { clusters: 1 });
  await ann.launch("a");
  await ann.run(clusters.stop, { cluster_name: "a" });
  await ann.launch("b");

  await assert.rejects(ann.run(clusters.start, { cluster_name: "a" }), refused(/1 of 1 clusters/));
  await assert.rejects(ann.launch("a"), refused(/1 of 1 clusters/));
  await ann.launch("b");
  await ann.run(clusters.down, { cluster_name: "b" });
  await ann.run(clusters.start, { cluster_name: "a" });

  assert.equal((await world.cluster("a")).status, "UP");
});

test("a dry run of a launch is refused by the limits that would refuse it, with their names", async (t) => {
  const { ann, limit, world } = await limitedBed(t, { clusters: 1, idle_minutes: 20 });
  const plan = (name: string, more: object = {}) =>
    ann.launch(name, undefined, { dryrun: true, ...more });

  await plan("a");
  await assert.rejects(plan("a", { idle_minutes_to_autostop: 30 }), refused(/\(idle_minutes\)/));
  await ann.launch("a");
  await plan("a");
  await assert.rejects(plan("a", { idle_minutes_to_autostop: 30 }), refused(/\(idle_minutes\)/));
  await assert.rejects(plan("b"), refused(/1 of 1 clusters are in use, and this takes 1 \(clust/));
  await ann.run(clusters.stop, { cluster_name: "a" });
  await plan("b");
  await limit({ limits: { clusters: 0 } });
  await assert.rejects(plan("a"), refused(/0 of 0 clusters are in use/));
  assert.equal((await world.ctx.db.selectFrom("clusters").selectAll().execute()).length, 1);
});

test("accelerators count over all nodes", async (t) => {
  const { ann } = await limitedBed(t, { accelerators: 24 });
  await ann.launch("a");

  await assert.rejects(
    ann.launch("b", undefined, { task: "num_nodes: 3" }),
    refused(/8 of 24 accelerators are in use, and this takes 24 \(accelerators\)/),
  );
  await ann.launch("b", undefined, { task: "num_nodes: 2" });
});

test("what clusters have cost this day and month counts, and an hour of the new one", async (t) => {
  const { ann, world, admin, limit } = await limitedBed(t, { dollars_per_day: 5 });
  const { ctx } = world;
  await ann.launch("a");
  // At noon of the 15th, the cluster has run since ten.
  const noon = new Date(ctx.now()).setUTCDate(15);
  world.advance(new Date(noon).setUTCHours(12, 0, 0, 0) - ctx.now().getTime());
  const startedAt = new Date(noon).setUTCHours(10, 0, 0, 0);
  await ctx.batch(async (tx) => {
    await tx.updateTable("usage_intervals").set({ started_at: startedAt }).execute();
  });

  await assert.rejects(
    ann.launch("b"),
    refused(
      /\$4\.00 of \$5\.00 are spent today \(UTC\), and an hour of this costs \$2\.00 \(dolla/,
    ),
  );
  assert.equal((await admin.run(rows.use, {}))[0]?.spent, null);
  await limit({ limits: { dollars_per_month: 4 } });
  await assert.rejects(ann.launch("b"), refused(/spent this month .* \(dollars_per_month\)/));
  const spent =
    /^workspace default has spent \$4\.0\d of \$4\.00 this month \(dollars_per_month, UTC\)/;
  assert.match((await admin.run(rows.use, {}))[0]?.spent ?? "", spent);
  const { doing } = await ann.run(explainOperations.explain, { name: "a" });
  assert.ok(doing.some((line) => spent.test(line)));
  assert.equal((await world.cluster("a")).status, "UP");

  // The next day has seen 12 hours of it by noon.
  await limit({ limits: { dollars_per_day: 27 } });
  world.advance(24 * hourMs);
  await ann.launch("b");
});

test("what gone clusters cost is kept for as long as it counts", async (t) => {
  const { ann, world, limit } = await limitedBed(t, { dollars_per_month: 100 });
  const { ctx } = world;
  world.advance(new Date(ctx.now()).setUTCDate(2) - ctx.now().getTime());
  await ann.launch("a");
  await ann.run(clusters.down, { cluster_name: "a" });
  const kept = async () =>
    (await ctx.db.selectFrom("usage_intervals").selectAll().execute()).length;
  const config = { ...ctx.config, clusterHistoryDays: 1 };

  world.advance(10 * 24 * hourMs);
  await collectClusters({ ...ctx, config });
  assert.equal(await kept(), 1);
  await limit({});
  await collectClusters({ ...ctx, config });
  assert.equal(await kept(), 0);
});

test("a launch does not go on at an offer that its workspace cannot pay", async (t) => {
  const { ann, world } = await limitedBed(t, { dollars_per_day: 5 });
  const { provider } = world;
  const dear = { ...(provider.offer ?? assert.fail()), infra: "fake/dear", dollarsPerHour: 9 };
  provider.otherOffers = [dear];
  provider.refuses("fake", new AppError("ResourcesUnavailableError", "full"));

  await assert.rejects(ann.launch("a"), refused(/an hour of this costs \$9\.00/));
  assert.deepEqual(
    provider.calls.filter((call) => call.startsWith("create")),
    ["create 0"],
  );
});

test("a launch must stop soon enough, however that is said", async (t) => {
  const { ann } = await limitedBed(t, { idle_minutes: 30 });
  const launch = (minutes: number | null, task = "run: 'true'") =>
    ann.launch("a", undefined, { idle_minutes_to_autostop: minutes, task });

  await assert.rejects(
    launch(null),
    refused(
      /must stop after 30 idle minutes at most \(idle_minutes\), and this one would have no autostop; .*`-i 30`/,
    ),
  );
  await assert.rejects(launch(31), refused(/an autostop of 31 minutes/));
  await launch(null, "resources: {autostop: 30}");
  await assert.rejects(launch(60), refused(/idle_minutes/));
  const set = (idle_minutes: number) =>
    ann.run(clusters.autostop, { cluster_name: "a", idle_minutes });
  for (const minutes of [-1, 31]) await assert.rejects(set(minutes), refused(/idle_minutes/));
  await set(5);
  await ann.run(clusters.stop, { cluster_name: "a" });
  const start = (minutes: number) =>
    ann.run(clusters.start, { cluster_name: "a", idle_minutes_to_autostop: minutes });
  await assert.rejects(start(45), refused(/idle_minutes/));
  await start(10);
});

test("a place that a workspace does not allow is refused by name", async (t) => {
  const { ann, limit, world } = await limitedBed(t, {});
  await limit({ allowed_infra: ["ssh/lab"] });
  const refusal = refused(
    /^workspace default: its configuration does not allow fake \(allowed_infra\)$/,
  );

  await assert.rejects(ann.launch("a"), refusal);
  await assert.rejects(ann.launch("a", undefined, { dryrun: true }), refusal);
  world.provider.otherOffers = [
    { ...(world.provider.offer as never as object), infra: "ssh/lab", dollarsPerHour: 9 } as never,
  ];
  await ann.launch("a");

  assert.equal((await world.cluster("a")).offer.infra, "ssh/lab");
});

test("a task that says nothing gets the resources of its workspace", async (t) => {
  const { ann, limit, world } = await limitedBed(t, {});
  await limit({ resources: { accelerators: "H100:8", autostop: 20, cpus: "64+" } });

  await assert.rejects(ann.launch("a"), { message: /nothing offers H100:8, 64\+ CPUs/ });
  await ann.launch("a", undefined, {
    task: "resources: {cpus: 2+}",
    idle_minutes_to_autostop: null,
  });

  const { taskYaml, autostop } = await world.cluster("a");
  assert.match(taskYaml, /accelerators: H100:8/);
  assert.equal(autostop?.idleMinutes, 20);
  await ann.launch("a", undefined, { task: "run: 'true'" });
});

test("pods go to the queue of their workspace, and have its limits, where their task names no queue", async (t) => {
  const { ann, limit, world } = await limitedBed(t, {});
  const queue = (local_queue_name: string) => ({ kueue: { local_queue_name } });
  await limit({
    kubernetes: { ...queue("ours"), set_pod_resource_limits: 2, allowed_contexts: "all" },
  });
  const own = "run: 'true'\nconfig: {kubernetes: {kueue: {local_queue_name: mine}}}";

  await ann.launch("a", undefined, { task: "run: 'true'" });
  await ann.launch("b", undefined, { task: own });

  const podsOf = async (name: string) => (await world.cluster(name)).machine.kubernetes;
  assert.deepEqual(await podsOf("a"), { ...queue("ours"), set_pod_resource_limits: 2 });
  assert.deepEqual(await podsOf("b"), { ...queue("mine"), set_pod_resource_limits: 2 });
});
