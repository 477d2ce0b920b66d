import type { Health } from "../../contract/agent-shapes.ts";
import type { Lifecycle } from "../../contract/lifecycle-shapes.ts";

/** How long a round may wait for the slowest node, and so the greatest age of the answers of the others. */
export const healthTimeoutMs = 2_000;

interface Answer {
  readonly health: Health;
  /** By `performance.now`. */
  readonly goodUntil: number;
}

/** What the agents of a cluster answered last in a pass, by rank. */
export type Answers = Map<number, Answer>;

/** What each agent answered last. */
export const lastHealth = (answers: Answers): ReadonlyMap<number, Health> =>
  new Map([...answers].map(([rank, { health }]) => [rank, health]));

/** Notes the health that an action was answered with: the next round need not ask for it. */
export function noteHealth(answers: Answers, rank: number, health: Health): void {
  answers.set(rank, { health, goodUntil: performance.now() + healthTimeoutMs });
}

/** Notes the same where the answer was only a lifecycle, which changes what the node said before. */
export function noteLifecycle(answers: Answers, rank: number, told: Lifecycle): void {
  const { health } = answers.get(rank) ?? {};
  const lifecycle = told.endedAt === null ? told : null;
  if (health !== undefined) noteHealth(answers, rank, { ...health, lifecycle });
}

/** What an action was answered with just now, else what `ask` is. */
export async function healthOf(
  answers: Answers,
  rank: number,
  ask: () => Promise<Health>,
): Promise<Health> {
  const known = answers.get(rank);
  const isGood = known !== undefined && performance.now() < known.goodUntil;
  const health = isGood ? known.health : await ask();
  answers.set(rank, { health, goodUntil: 0 });
  return health;
}
