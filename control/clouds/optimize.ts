import type { InputOf } from "../../common/operation.ts";
import type { taskOperations as rows } from "../../contract/operations/tasks.ts";
import type { ReplicaPolicy } from "../../contract/task/replica-policy.ts";
import type { Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import { candidatesTable, outlooksOf } from "../candidates.ts";
import type { AskedIn } from "../clusters/schema.ts";
import type { Context } from "../context.ts";
import { askedOfReplica, asksForSpot, spotOf } from "../needs.ts";
import { describeOffer } from "../offer-words.ts";
import { chosenOf, isOffered, weighOffers } from "../offers.ts";
import type { Planned } from "../providers/provider.ts";
import { readDocument } from "../task.ts";
import { withVolumes } from "../volumes/place.ts";
import { withDefaults } from "../workspaces/defaults.ts";

/**
 * Prints what each task of a document would take and why nothing else, and what all of them cost: at once in
 * a group, the dearest one in a pipeline.
 */
export async function optimize(
  ctx: Context,
  { dag, minimize }: InputOf<typeof rows.optimize>,
  call: Call,
): Promise<null> {
  const whole = await withDefaults(ctx, call.workspace, dag);
  const document = readDocument(await withVolumes(ctx, whole, call));
  if (minimize === 1)
    call.print("machines are chosen by price; how long the task takes on each is unknown\n");
  const isGroup = document.kind === "group";
  const planned: Planned[] = [];
  for (const task of document.tasks)
    planned.push(await planOf(ctx, task, isGroup ? planned : [], call));
  if (planned.length < 2) return null;
  const prices = planned.map(({ offer, nodes }) => offer.dollarsPerHour * nodes);
  const price = isGroup ? prices.reduce((sum, one) => sum + one, 0) : Math.max(...prices);
  const how = isGroup ? "together" : "one after the other, at most";
  call.print(`${prices.length} tasks ${how} $${price.toFixed(2)} an hour\n`);
  return null;
}

/** Prints what a task would take besides others that run with it. Throws as `chosenOf` does. */
async function planOf(
  ctx: Context,
  task: Task,
  others: readonly Planned[],
  call: Call,
): Promise<Planned> {
  const { name = "task", nodes, service } = task;
  const planned = others.length > 0 ? { planned: [...others] } : {};
  const asked = { ...(await askedOf(ctx, task, call)), ...planned };
  const choice = await weighOffers(ctx, asked, call.signal);
  const outlooks = await outlooksOf(ctx, choice, task, call.signal);
  call.print(candidatesTable(ctx, asked, choice, outlooks));
  const offer = await chosenOf(ctx, asked, choice, call.signal);
  const dollars = offer.dollarsPerHour * nodes;
  const each = service === undefined ? "" : `${countOf(service.replicas)}, each `;
  const base = offer.isSpot ? (service?.replicas.baseOndemandReplicas ?? 0) : 0;
  const onDemand = base > 0 ? `; ${base} of them on demand` : "";
  const price = `$${dollars.toFixed(2)} an hour`;
  call.print(`${name}: ${each}${nodes} × ${describeOffer(offer)}, ${price}${onDemand}\n`);
  const { image, ports = [] } = task.resources.candidates[0] ?? {};
  const isReached = asked.reached || ports.length > 0;
  const machine = { ...(image && { image }), ...(isReached && { reached: true as const }) };
  return { offer, nodes, machine };
}

/** What is asked for a task: on spot if it uses that; of a service while there is any. */
async function askedOf(ctx: Context, task: Task, { workspace, signal }: Call): Promise<AskedIn> {
  if (task.service === undefined)
    return { ...askedOfReplica(task, workspace), ...(await spotOf(ctx, task.resources)) };
  const onSpot = askedOfReplica(task, workspace, true);
  return (await asksForSpot(ctx, task.resources)) && (await isOffered(ctx, onSpot, signal))
    ? onSpot
    : askedOfReplica(task, workspace);
}

/** How many replicas there are to be: `2 replicas`, `1 to 4 replicas`. */
const countOf = ({ min, max }: ReplicaPolicy): string => {
  const count = min === max ? `${max}` : `${min} to ${max}`;
  return `${count} ${count === "1" ? "replica" : "replicas"}`;
};
