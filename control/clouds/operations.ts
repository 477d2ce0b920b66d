import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { taskOperations } from "../../contract/operations/tasks.ts";
import { hintOf } from "../../contract/spelling.ts";
import type { ReplicaPolicy } from "../../contract/task/replica-policy.ts";
import type { Task } from "../../contract/task.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import { type AskedIn, checkClusterName } from "../clusters/schema.ts";
import { collectOffers } from "../collect-offers.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { describeOffer } from "../offer-words.ts";
import { askedOfReplica, asksForSpot, chooseOffer, isOffered, placesOf } from "../offers.ts";
import type { Provider } from "../providers/provider.ts";
import { readDocument } from "../task.ts";
import { withDefaults } from "../workspaces/defaults.ts";
import { requireWorkspace, visibleWorkspaces } from "../workspaces/find.ts";
import { policyOf } from "../workspaces/schema.ts";
import { namesWith } from "./name-pattern.ts";
import type { Refusal } from "./schema.ts";
import { listRefusals } from "./store.ts";

type CountsInput = InputOf<typeof rows.listAcceleratorCounts>;

/** What can be had where, and whether a task fits it. */
export const cloudOperations: Bound[] = [
  bind(rows.check, check),
  bind(rows.enabledClouds, async (ctx, { workspace }, call) =>
    enabledNames(ctx, await requireWorkspace(ctx, workspace ?? call.workspace, call)),
  ),
  bind(rows.enabledCloudsBatch, async (ctx, { workspaces }, call) => {
    const enabled: Record<string, string[]> = {};
    for (const name of namesIn(workspaces))
      enabled[name] = await enabledNames(ctx, await requireWorkspace(ctx, name, call));
    return enabled;
  }),
  bind(rows.listAcceleratorCounts, acceleratorCounts),
  bind(taskOperations.validate, validate),
  bind(taskOperations.optimize, optimize),
];

/** The clouds that have anything to give to a workspace. */
async function enabledNames(
  { providers, configurations }: Context,
  name: string,
): Promise<string[]> {
  const { allows } = policyOf((await configurations.current()).document, name);
  const places = await Promise.all(providers.map(placesOf));
  return providers.filter((_, index) => places[index]?.some(allows)).map(({ name }) => name);
}

const namesIn = (list: string): string[] => list.split(",").filter((name) => name !== "");

/** Asks each provider what it has, and says so. */
async function check(ctx: Context, input: InputOf<typeof rows.check>, call: Call) {
  const workspaces =
    input.workspace === null
      ? Object.keys(await visibleWorkspaces(ctx, call))
      : [await requireWorkspace(ctx, input.workspace, call)];
  const names = ctx.providers.map(({ name }) => name);
  const unknown = input.clouds?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    fail(
      "ValueError",
      `there is no cloud ${unknown}; ${hintOf(unknown, names, `there is ${names.join(", ")}`)}`,
    );
  const allowed: Record<string, string[]> = {};
  for (const name of workspaces) allowed[name] = await enabledNames(ctx, name);
  const wanted = input.clouds ?? Object.values(allowed).flat();
  const chosen = ctx.providers.filter(({ name }) => wanted.includes(name));
  const enabled: string[] = [];
  const now = ctx.now().getTime();
  const refusals = await listRefusals(ctx.db, now);
  for (const provider of chosen) {
    const answer = await collectOffers([provider], {}, call.signal);
    const offers = answer.offers.map(describeOffer);
    const shortages = (await provider.shortages?.()) ?? [];
    if (offers.length > 0) enabled.push(provider.name);
    const isShort = offers.length === 0 && shortages.length > 0;
    const offered = `${provider.name}: ${offers.join("; ") || "nothing to offer"}`;
    const refused = refusals.filter(({ offer }) => offer.provider === provider.name);
    const told = answer.silent.length > 0 ? answer.silent : isShort ? [] : [offered];
    const lines = [...told, ...shortages, ...refused.map((one) => refusalLine(one, now))];
    call.print(`${lines.join("\n")}\n`);
  }
  call.print(`Enabled infra: ${enabled.join(", ") || "none"}\n`);
  return Object.fromEntries(
    workspaces.map((name) => [name, capabilitiesOf(chosen, allowed[name] ?? [])]),
  );
}

const capabilitiesOf = (chosen: readonly Provider[], allowed: readonly string[]) =>
  Object.fromEntries(
    chosen
      .filter(({ name }) => allowed.includes(name))
      .map(({ name }) => [name, ["compute" as const]]),
  );

/** `aws/us-east-1 refused 2 nodes of p4d: no capacity; it will be tried again in 42 s`. */
const refusalLine = ({ offer, nodes, reason, until }: Refusal, now: number): string =>
  `${offer.infra} refused ${nodes} ${nodes === 1 ? "node" : "nodes"} of ${offer.instanceType}` +
  `${offer.isSpot ? " on spot" : ""}: ${reason}; it will be tried again in ${Math.ceil((until - now) / 1_000)} s`;

/** What machines have of accelerators now; prices and regions are not told yet. */
async function acceleratorCounts(
  { providers }: Context,
  { clouds, name_filter: filter, quantity_filter: count }: CountsInput,
  call: Call,
) {
  const wanted = providers.filter(({ name }) => clouds === null || [clouds].flat().includes(name));
  const { offers } = await collectOffers(wanted, {}, call.signal);
  const offered = offers.flatMap(({ accelerators }) => accelerators ?? []);
  const names = [...new Set(offered.map(({ name }) => name))];
  const chosen = new Set(filter === null ? names : namesWith("name_filter", filter, names));
  const found = new Map<string, Set<number>>();
  for (const accelerators of offered) {
    if (count !== null && accelerators.count !== count) continue;
    if (!chosen.has(accelerators.name)) continue;
    const counts = found.get(accelerators.name) ?? new Set();
    found.set(accelerators.name, counts.add(accelerators.count));
  }
  return Object.fromEntries(
    [...found].map(([name, counts]) => [name, [...counts].sort((a, b) => a - b)]),
  );
}

/** Refuses what a launch of these tasks would refuse as it is submitted. */
async function validate(
  _ctx: Ground,
  { dag, request_options: options }: InputOf<typeof taskOperations.validate>,
) {
  if (typeof options?.cluster_name === "string") checkClusterName(options.cluster_name);
  readDocument(dag);
  return null;
}

/** Prints what each task of a document would take. */
async function optimize(
  ctx: Context,
  { dag }: InputOf<typeof taskOperations.optimize>,
  call: Call,
) {
  const { workspace, signal } = call;
  for (const task of readDocument(await withDefaults(ctx, workspace, dag)).tasks) {
    const { name = "task", nodes, service } = task;
    const offer = await chooseOffer(ctx, await askedOf(ctx, task, workspace, signal), signal);
    const price = `$${(offer.dollarsPerHour * nodes).toFixed(2)} an hour`;
    const each = service === undefined ? "" : `${countOf(service.replicas)}, each `;
    const base = offer.isSpot ? (service?.replicas.baseOndemandReplicas ?? 0) : 0;
    const others = base > 0 ? `; ${base} of them on demand` : "";
    call.print(`${name}: ${each}${nodes} × ${describeOffer(offer)}, ${price}${others}\n`);
  }
  return null;
}

/** What is asked for a task: of a service that uses spot on spot, while there is any. */
async function askedOf(
  ctx: Context,
  task: Task,
  workspace: string,
  signal: AbortSignal,
): Promise<AskedIn> {
  const onSpot = askedOfReplica(task, workspace, true);
  const usesSpot = task.service !== undefined && asksForSpot(ctx, task.resources);
  return usesSpot && (await isOffered(ctx, onSpot, signal))
    ? onSpot
    : askedOfReplica(task, workspace);
}

/** How many replicas there are to be: `2 replicas`, `1 to 4 replicas`. */
const countOf = ({ min, max }: ReplicaPolicy): string => {
  const count = min === max ? `${max}` : `${min} to ${max}`;
  return `${count} ${count === "1" ? "replica" : "replicas"}`;
};
