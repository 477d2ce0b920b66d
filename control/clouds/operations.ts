import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { taskOperations } from "../../contract/operations/tasks.ts";
import { hintOf } from "../../contract/spelling.ts";
import type { ReplicaPolicy } from "../../contract/task/replica-policy.ts";
import type { Task } from "../../contract/task.ts";
import { askOffers } from "../ask-offers.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import { type Asked, checkClusterName } from "../clusters/schema.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import {
  askedOfReplica,
  asksForSpot,
  chooseOffer,
  describeOffer,
  isOffered,
  placesOf,
} from "../offers.ts";
import { readDocument } from "../task.ts";
import { namesWith } from "./name-pattern.ts";
import type { Refusal } from "./schema.ts";
import { listRefusals } from "./store.ts";

const workspace = "default";
type CountsInput = InputOf<typeof rows.listAcceleratorCounts>;

/** What can be had where, and whether a task fits it. */
export const cloudOperations: Bound[] = [
  bind(rows.check, check),
  bind(rows.enabledClouds, async (ctx) => enabledNames(ctx)),
  bind(rows.enabledCloudsBatch, async (ctx, { workspaces }) => {
    const enabled = await enabledNames(ctx);
    return Object.fromEntries(namesIn(workspaces).map((name) => [name, enabled]));
  }),
  bind(rows.listAcceleratorCounts, acceleratorCounts),
  bind(taskOperations.validate, validate),
  bind(taskOperations.optimize, optimize),
];

/** The clouds that have anything to give. */
async function enabledNames({ providers }: Context): Promise<string[]> {
  const places = await Promise.all(providers.map(placesOf));
  return providers.filter((_, index) => places[index]?.length !== 0).map(({ name }) => name);
}

const namesIn = (list: string): string[] => list.split(",").filter((name) => name !== "");

/** Asks each provider what it has, and says so. */
async function check(ctx: Context, input: InputOf<typeof rows.check>, call: Call) {
  if ((input.workspace ?? workspace) !== workspace)
    fail(
      "PermissionDeniedError",
      `there is no workspace ${input.workspace}; there is only one: ${workspace}`,
    );
  const names = ctx.providers.map(({ name }) => name);
  const unknown = input.clouds?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    fail(
      "ValueError",
      `there is no cloud ${unknown}; ${hintOf(unknown, names, `there is ${names.join(", ")}`)}`,
    );
  const wanted = input.clouds ?? (await enabledNames(ctx));
  const chosen = ctx.providers.filter(({ name }) => wanted.includes(name));
  const enabled: string[] = [];
  const now = ctx.now().getTime();
  const refusals = await listRefusals(ctx.db, now);
  for (const provider of chosen) {
    const answer = await askOffers([provider], {}, call.signal);
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
  const capabilities = chosen.map(({ name }) => [name, ["compute" as const]]);
  return { [workspace]: Object.fromEntries(capabilities) };
}

/** `aws/us-east-1 refused 2 nodes of p4d: no capacity; it is asked again in 42 s`. */
const refusalLine = ({ offer, nodes, reason, until }: Refusal, now: number): string =>
  `${offer.infra} refused ${nodes} ${nodes === 1 ? "node" : "nodes"} of ${offer.instanceType}` +
  `${offer.isSpot ? " on spot" : ""}: ${reason}; it is asked again in ${Math.ceil((until - now) / 1_000)} s`;

/** What machines have of accelerators now; prices and regions are not told yet. */
async function acceleratorCounts(
  { providers }: Context,
  { clouds, name_filter: filter, quantity_filter: count }: CountsInput,
  call: Call,
) {
  const wanted = providers.filter(({ name }) => clouds === null || [clouds].flat().includes(name));
  const { offers } = await askOffers(wanted, {}, call.signal);
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
  for (const task of readDocument(dag).tasks) {
    const { name = "task", nodes, service } = task;
    const offer = await chooseOffer(ctx, await askedOf(ctx, task, call.signal), call.signal);
    const price = `$${(offer.dollarsPerHour * nodes).toFixed(2)} an hour`;
    const each = service === undefined ? "" : `${countOf(service.replicas)}, each `;
    const base = offer.isSpot ? (service?.replicas.baseOndemandReplicas ?? 0) : 0;
    const others = base > 0 ? `; ${base} of them on demand` : "";
    call.print(`${name}: ${each}${nodes} × ${describeOffer(offer)}, ${price}${others}\n`);
  }
  return null;
}

/** What is asked for a task: of a service that uses spot on spot, while there is any. */
async function askedOf(ctx: Context, task: Task, signal: AbortSignal): Promise<Asked> {
  const onSpot = askedOfReplica(task, true);
  const usesSpot = task.service !== undefined && asksForSpot(ctx, task.resources);
  return usesSpot && (await isOffered(ctx, onSpot, signal)) ? onSpot : askedOfReplica(task);
}

/** How many replicas there are to be: `2 replicas`, `1 to 4 replicas`. */
const countOf = ({ min, max }: ReplicaPolicy): string => {
  const count = min === max ? `${max}` : `${min} to ${max}`;
  return `${count} ${count === "1" ? "replica" : "replicas"}`;
};
