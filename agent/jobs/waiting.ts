import type { Demand, NodeSettings } from "../../contract/agent-shapes.ts";
import type { Agent } from "../context.ts";
import { findOpenLifecycle } from "../lifecycles/store.ts";
import { findNode } from "../node.ts";
import { findSpec, listHoldingParts } from "./part-store.ts";
import { assign, type Holding } from "./queue.ts";
import { countPendingUpTo, findNextPending, listPendingIds } from "./store.ts";

/** What a job has been given on a node. */
export type JobHolding = Holding & { readonly jobId: number };

const idsAtMost = 8;
const headRank = 0;
const ordinals = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];

/** Why a job waits in the queue; null when it does not, or is about to start. */
export function whyWaits(agent: Agent, id: number): string | null {
  const { first, why } = frontOf(agent);
  if (first === undefined || id < first) return null;
  return textOf(countPendingUpTo(agent.journal, id), first, why);
}

/** Why the queued jobs wait, those of the highest ids: pairs of id and reason. */
export function listWaiting(agent: Agent, limit?: number): (readonly [number, string | null])[] {
  const { first, why } = frontOf(agent);
  if (first === undefined) return [];
  const ids = listPendingIds(agent.journal, limit);
  const places = countPendingUpTo(agent.journal, ids[0] ?? first);
  return ids.map((id, index) => [id, textOf(places - index, first, why)] as const);
}

/** Jobs start in the order of their arrival: what the first one waits for holds up all others. */
function frontOf(agent: Agent): { first?: number; why?: string | undefined } {
  const { journal } = agent;
  const job = findNextPending(journal);
  const spec = job && findSpec(journal, job.id);
  const node = findNode(journal);
  if (spec === undefined || node === undefined) return {};
  const open = findOpenLifecycle(agent);
  const why =
    open === undefined
      ? lackOf(spec.demand, node, listHoldingParts(journal, headRank))
      : `the ${open.events.join(" and ")} of the cluster to end`;
  return { first: spec.jobId, why };
}

function textOf(place: number, first: number, why: string | undefined): string | null {
  const waits = why === undefined ? undefined : `waits for ${why}`;
  if (place <= 1) return waits ?? null;
  return `waits ${placeOf(place)} in line, behind job ${first}${waits === undefined ? "" : `, which ${waits}`}`;
}

/** What a demand lacks on a node, and which jobs have it; undefined when it fits. */
export function lackOf(
  demand: Demand,
  node: Pick<NodeSettings, "cpus" | "accelerators">,
  holdings: readonly JobHolding[],
): string | undefined {
  if (assign(demand, node, holdings) !== undefined) return undefined;
  if (assign({ ...demand, accelerators: 0 }, node, holdings) === undefined) {
    const users = holdings.filter(({ cpus }) => cpus > 0);
    const used = users.reduce((sum, { cpus }) => sum + cpus, 0);
    return `${countOf(demand.cpus, "CPU")}: ${usersOf(users)} ${shareOf(used, node.cpus)}`;
  }
  const users = holdings.filter(({ gpus }) => gpus.length > 0);
  const { name, count } = node.accelerators ?? { name: "accelerator", count: 0 };
  const used =
    demand.accelerators < 1
      ? users.reduce((sum, { accelerators }) => sum + accelerators, 0)
      : new Set(users.flatMap(({ gpus }) => gpus)).size;
  const lacks =
    demand.accelerators < 1
      ? `${round(demand.accelerators)} of one ${name}`
      : countOf(demand.accelerators, name);
  return `${lacks}: ${usersOf(users)} ${shareOf(used, count)}`;
}

function usersOf(holdings: readonly JobHolding[]): string {
  const ids = [...new Set(holdings.map(({ jobId }) => jobId))].sort((a, b) => a - b);
  const more = ids.length > idsAtMost ? ` and ${ids.length - idsAtMost} more` : "";
  const shown = ids.slice(0, idsAtMost).join(", ");
  return ids.length === 1 ? `job ${shown} uses` : `jobs ${shown}${more} use`;
}

const shareOf = (used: number, has: number): string =>
  round(used) >= round(has) ? `all ${round(has)}` : `${round(used)} of ${round(has)}`;

const round = (amount: number): number => Math.round(amount * 100) / 100;

const countOf = (amount: number, noun: string): string =>
  `${round(amount)} ${noun}${amount > 1 ? "s" : ""}`;

function placeOf(place: number): string {
  const word = ordinals[place - 1];
  if (word !== undefined) return word;
  const isTeen = place % 100 >= 11 && place % 100 <= 13;
  const suffix = isTeen ? "th" : (["th", "st", "nd", "rd"][place % 10] ?? "th");
  return `${place}${suffix}`;
}
