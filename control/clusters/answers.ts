import type { Health } from "../../contract/agent-shapes.ts";
import type { Lifecycle } from "../../contract/lifecycle-shapes.ts";
import type { NodeState } from "../providers/provider.ts";

/** How long a round may wait for the slowest node, and so the greatest age of the answers of the others. */
export const healthTimeoutMs = 2_000;

interface Answer {
  readonly health: Health;
  /** By `performance.now`. */
  readonly goodUntil: number;
}

/** What was answered last in a pass over a cluster. */
export interface Answers {
  /** By its agents, by rank. */
  readonly agents: Map<number, Answer>;
  /** By its provider, until an action changes that. */
  nodes?: { readonly seen: NodeState[]; readonly goodUntil: number } | undefined;
}

/** What a pass begins with. */
export const noAnswers = (): Answers => ({ agents: new Map() });

/** What each agent answered last. */
export const lastHealth = ({ agents }: Answers): ReadonlyMap<number, Health> =>
  new Map([...agents].map(([rank, { health }]) => [rank, health]));

/** What the provider answered just now, as `healthTimeoutMs` says, else what `ask` does. */
export async function nodesOf(
  answers: Answers,
  ask: () => Promise<NodeState[]>,
): Promise<NodeState[]> {
  const known = answers.nodes;
  if (known !== undefined && performance.now() < known.goodUntil) return known.seen;
  const goodUntil = performance.now() + healthTimeoutMs;
  const seen = await ask();
  answers.nodes = { seen, goodUntil };
  return seen;
}

/** Notes the health that an action was answered with: the next round need not ask for it. */
export function noteHealth(answers: Answers, rank: number, health: Health): void {
  answers.agents.set(rank, { health, goodUntil: performance.now() + healthTimeoutMs });
}

/** Notes the same where the answer was only a lifecycle, which changes what the node said before. */
export function noteLifecycle(answers: Answers, rank: number, told: Lifecycle): void {
  const { health } = answers.agents.get(rank) ?? {};
  const lifecycle = told.endedAt === null ? told : null;
  if (health !== undefined) noteHealth(answers, rank, { ...health, lifecycle });
}

/** What an action was answered with just now, else what `ask` is. */
export async function healthOf(
  answers: Answers,
  rank: number,
  ask: () => Promise<Health>,
): Promise<Health> {
  const known = answers.agents.get(rank);
  const isGood = known !== undefined && performance.now() < known.goodUntil;
  const health = isGood ? known.health : await ask();
  answers.agents.set(rank, { health, goodUntil: 0 });
  return health;
}
