import { fail } from "../../common/errors.ts";
import type { Demand, JobSubmission, NodeSettings } from "../../contract/agent-shapes.ts";

/** What is given away on a node. */
export interface Holding {
  readonly cpus: number;
  readonly accelerators: number;
  readonly gpus: readonly number[];
}

/** Sums of fractions such as 0.1 may miss the whole number by this much. */
const tolerance = 1e-9;

/** Throws `ValueError` for a job that could never start on these nodes. */
export function checkFits({ nodes, demand }: JobSubmission, node: NodeSettings): void {
  const { cpus, accelerators } = demand;
  const has = node.accelerators?.count ?? 0;
  if (nodes > node.addresses.length)
    refuse(`${nodes} nodes`, `the cluster has ${node.addresses.length}`);
  if (cpus > node.cpus) refuse(`${cpus} CPUs a node`, `a node has ${node.cpus}`);
  if (accelerators > has)
    refuse(`${accelerators} accelerators a node`, `a node has ${has} of them`);
  if (accelerators > 1 && !Number.isInteger(accelerators))
    refuse(
      `${accelerators} accelerators`,
      "more than one accelerator is allocated in whole numbers",
    );
}

/**
 * The accelerators that a demand gets beside what others hold, by index; undefined when it must
 * wait. Fractions share one: the fullest that has room, so that whole ones stay free.
 */
export function assign(
  demand: Demand,
  node: Pick<NodeSettings, "cpus" | "accelerators">,
  holdings: readonly Holding[],
): number[] | undefined {
  const cpus = holdings.reduce((sum, holding) => sum + holding.cpus, demand.cpus);
  if (cpus > node.cpus + tolerance) return undefined;
  const count = Math.ceil(demand.accelerators);
  const share = Math.min(demand.accelerators, 1);
  const room = Array.from({ length: node.accelerators?.count ?? 0 }, (_, gpu) => ({
    gpu,
    used: usedShare(gpu, holdings),
  })).filter(({ used }) => used + share <= 1 + tolerance);
  if (room.length < count) return undefined;
  if (share < 1) room.sort((a, b) => b.used - a.used || a.gpu - b.gpu);
  return room.slice(0, count).map(({ gpu }) => gpu);
}

function usedShare(gpu: number, holdings: readonly Holding[]): number {
  return holdings
    .filter(({ gpus }) => gpus.includes(gpu))
    .reduce((sum, { accelerators }) => sum + Math.min(accelerators, 1), 0);
}

function refuse(asked: string, has: string): never {
  fail("ValueError", `the job asks for ${asked}, but ${has}; ask for less`);
}
