import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations } from "../../../contract/operations/clusters.ts";
import { taskOperations as rows } from "../../../contract/operations/tasks.ts";
import { workspaceOperations } from "../../../contract/operations/workspaces.ts";
import { addRefusal } from "../../../control/clouds/store.ts";
import type { ClusterRef, Need, Offer } from "../../../control/providers/provider.ts";
import { testWorld, type World } from "../../helpers/world.ts";

const offer: Offer = {
  ...{ provider: "fake", infra: "fake/a", region: "a", zone: null, instanceType: "small" },
  ...{ cpus: 4, memoryGb: 16, accelerators: null, dollarsPerHour: 2 },
};
const large = {
  ...offer,
  infra: "fake/b",
  region: "b",
  instanceType: "large",
  cpus: 8,
  dollarsPerHour: 3,
};
const gpu = {
  ...large,
  instanceType: "gpu",
  accelerators: { name: "L4", count: 2 },
  dollarsPerHour: 5,
};

/** A cloud with these machines, and a plan by it. */
async function planned(world: World, dag: string, offers: readonly Offer[] = [offer, large, gpu]) {
  Object.assign(world.provider, { offer: undefined, otherOffers: offers });
  const id = await world.call(rows.optimize, { dag, request_options: null });
  const error = await world.get(rows.optimize, id).catch((why: Error) => why.message);
  return { printed: await world.printed(id), error };
}

/** The machines of a table, each with what is said of it. */
const verdicts = (printed: string): string[] =>
  printed
    .split("\n")
    .filter((line) => /^ {2}\S+ .* \d+\.\d\d {2}/.test(line))
    .map((line) => line.trim().split(/ {2,}/))
    .map((cells) => `${cells[0]} ${cells[1]}: ${cells.at(-1)}`);

test("the cheapest machine is chosen, and the others are said to cost more", async (t) => {
  const world = await testWorld(t);
  const { printed } = await planned(world, "{num_nodes: 2, run: x}");

  assert.match(printed, /^Candidates for 2 nodes:\n/);
  assert.match(printed, /^ {2}fake\/a +small +- +4 +16 GB +4\.00 +chosen$/m);
  assert.deepEqual(verdicts(printed).slice(1), [
    "fake/b large: costs $2.00 more per hour",
    "fake/b gpu: costs $6.00 more per hour",
  ]);
  assert.match(printed, /^task: 2 × fake\/a \(4 CPUs, 16 GB\), \$4\.00 an hour$/m);
  const fastest = { dag: "run: x", request_options: null, minimize: 1 as const };
  const byTime = await world.printed(await world.call(rows.optimize, fastest));
  assert.match(byTime, /^machines are chosen by price/);
});

test("providers say what is known of the first offers; one that fails says nothing", async (t) => {
  const world = await testWorld(t);
  Object.assign(world.provider, {
    async outlook(
      { instanceType }: Offer,
      { nodes, machine }: Pick<ClusterRef, "nodes" | "machine">,
    ) {
      if (instanceType === "large") throw new AppError("ResourcesUnavailableError", "too short");
      if (instanceType === "gpu") throw new Error("no answer");
      return `time limit 1:00:00 for ${nodes} nodes, hooks ${machine.graceSeconds} s`;
    },
  });
  const hooks = "config: {hooks: [{run: x, events: [preemption], timeout: 7}]}";
  const { printed } = await planned(world, `{num_nodes: 2, run: x, ${hooks}}`);

  assert.deepEqual(verdicts(printed), [
    "fake/a small: chosen; time limit 1:00:00 for 2 nodes, hooks 7 s",
    "fake/b large: costs $2.00 more per hour; too short",
    "fake/b gpu: costs $6.00 more per hour",
  ]);
});

test("of `ordered` the first that can be had is chosen, of `any_of` the cheapest", async (t) => {
  const world = await testWorld(t);
  const task = (how: string) => `resources: {${how}: [{accelerators: L4}, {cpus: 8+}, {}]}\nrun: x`;

  const ordered = verdicts((await planned(world, task("ordered"))).printed);
  assert.deepEqual(ordered, [
    "fake/b gpu: chosen",
    "fake/b large: listed later in the task",
    "fake/a small: listed later in the task",
  ]);
  const anyOf = verdicts((await planned(world, task("any_of"))).printed);
  assert.equal(anyOf[0], "fake/a small: chosen");
});

test("what is refused, forbidden or too dear says why", async (t) => {
  const world = await testWorld(t);
  await world.run(workspaceOperations.update, {
    workspace_name: "default",
    config: { allowed_infra: ["fake/a"] },
  });
  const at = world.ctx.now().getTime();
  const refusal = { offer, nodes: 1, kind: "capacity" as const, reason: "sold out", at };
  await world.ctx.batch((tx) => addRefusal(tx, { ...refusal, until: at + 60_000 }));
  const other = { ...offer, instanceType: "medium", dollarsPerHour: 2.5 };
  const dear = { ...offer, instanceType: "huge", dollarsPerHour: 40 };

  const task = "{resources: {max_hourly_cost: 10}, run: x}";
  const { printed } = await planned(world, task, [offer, large, other, dear]);

  assert.deepEqual(verdicts(printed), [
    "fake/a medium: chosen",
    "fake/a small: sold out",
    "fake/b large: workspace default does not allow it",
    "fake/a huge: costs more than max_hourly_cost",
  ]);
  const none = await planned(world, "{resources: {max_hourly_cost: 1}, run: x}", [dear]);
  assert.match(
    String(none.error),
    /cheapest machine is .* for \$40\.00 an hour; raise max_hourly_cost/,
  );
});

test("the catalog says what accelerators cost where nothing can be created", async (t) => {
  const world = await testWorld(t);
  const { printed, error } = await planned(world, "{resources: {accelerators: H100:8}, run: x}");

  assert.match(
    printed,
    /^ {2}lambda +8x H100 SXM +H100:8 +208 +1800 GB +31\.92 +this control plane cannot launch on lambda$/m,
  );
  assert.match(printed, /^ {2}aws\/us-east-1 +p5\.48xlarge /m);
  assert.match(String(error), /^nothing offers H100:8; there is: fake\/a[^?]*$/);
  const misspelled = await planned(world, "{resources: {accelerators: H10O}, run: x}");
  assert.match(String(misspelled.error), /; did you mean `H100`\?$/);
});

test("accelerators are chosen by their memory, and a launch gets them", async (t) => {
  const world = await testWorld(t);
  const ask = async (kind: string) =>
    verdicts((await planned(world, `{resources: {accelerators: "${kind}"}, run: x}`)).printed)[0];

  assert.equal(await ask("24GB"), "fake/b gpu: chosen");
  assert.equal(await ask("nvidia:16GB+:2"), "fake/b gpu: chosen");
  assert.doesNotMatch(String(await ask("24GB:4")), /chosen/);
  assert.match(String(await ask("25GB+")), /: this control plane cannot launch on \w+$/);
  assert.doesNotMatch(String(await ask("amd:16GB+")), /chosen/);

  const task = '{resources: {accelerators: "24GB:2"}, run: x}';
  const id = await world.call(clusterOperations.launch, { task, cluster_name: "demo" });
  await world.get(clusterOperations.launch, id);
  assert.equal((await world.cluster("demo")).offer.instanceType, "gpu");
  assert.match(await world.printed(id), /^Candidates for 24GB:2:\n.* chosen$/ms);

  const quiet = { task, cluster_name: "other", quiet_optimizer: true };
  const second = await world.call(clusterOperations.launch, quiet);
  await world.get(clusterOperations.launch, second);
  assert.doesNotMatch(await world.printed(second), /Candidates/);
});

test("the tasks of a pipeline cost what the dearest does, those of a group all together", async (t) => {
  const world = await testWorld(t);
  const tasks = "{name: a, run: x}\n---\n{name: b, resources: {accelerators: L4}, run: x}";

  const pipeline = await planned(world, `name: both\n---\n${tasks}`);
  assert.match(pipeline.printed, /^2 tasks one after the other, at most \$5\.00 an hour$/m);
  const group = await planned(world, `{name: both, execution: parallel}\n---\n${tasks}`);
  assert.match(group.printed, /^2 tasks together \$7\.00 an hour$/m);
});

test("tasks of a group do not share machines in the plan, tasks of a pipeline do", async (t) => {
  const world = await testWorld(t);
  const needs: Need[] = [];
  const offers = async (need: Need) => {
    needs.push(need);
    return [offer, large].slice(need.planned?.length ?? 0);
  };
  Object.assign(world.provider, { offers });
  const tasks = (...names: string[]) =>
    names.map((name) => `---\n{name: ${name}, run: x}`).join("\n");
  const group = (...names: string[]) =>
    planned(world, `{name: all, execution: parallel}\n${tasks(...names)}`);

  const two = await group("a", "b");
  assert.match(two.printed, /^a: 1 × fake\/a .*^b: 1 × fake\/b /ms);
  assert.deepEqual(
    needs.map(({ reached, planned: others = [] }) => [reached, others[0]?.machine]),
    [
      [true, undefined],
      [true, { reached: true }],
    ],
  );
  const three = await group("a", "b", "c");
  assert.equal(
    three.error,
    "nothing offers any machine; besides what is planned already, there is: nothing at all",
  );
  const pipeline = await planned(world, `name: all\n${tasks("a", "b", "c")}`);
  assert.match(pipeline.printed, /^c: 1 × fake\/a /m);
});

test("a price of one's own decides where a task goes, and what it costs", async (t) => {
  const world = await testWorld(t);
  const folder = join(world.ctx.config.home, "catalog");
  mkdirSync(folder);
  const price = "{infra: fake/a, dollars_per_hour: 4, source: invoice, date: 2026-11-01}";
  writeFileSync(join(folder, "ours.yaml"), `prices: [${price}]`);

  const { printed } = await planned(world, "run: x");

  assert.deepEqual(verdicts(printed)[0], "fake/b large: chosen");
  await world.run(clusterOperations.launch, { task: "run: x", cluster_name: "demo" });
  assert.equal((await world.cluster("demo")).offer.dollarsPerHour, 3);
});
