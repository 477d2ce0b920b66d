import type { FakeJob } from "../helpers/fake-node.ts";
import type { Random } from "./random.ts";
import type { Step, Undated } from "./script.ts";

/** What users want of pools, and what they read of them. */

/** The variable by which a job on a node tells how many processors it takes. */
export const cpusName = "CPUS";

/** What a job of a pool says that it takes; nothing is all of a worker. */
export function aShare(random: Random): Record<string, number> {
  const cpus = random.between(0, 3);
  return cpus === 0 ? {} : { cpus };
}

/** How many processors a job on a worker takes; 0 is all of them. */
export const cpusOf = ({ submission }: Pick<FakeJob, "submission">): number =>
  Number(submission.env[cpusName]);

const counts = [1, 1, 2, 3];

/** A fixed number of workers, or one that follows the queue. */
function aPool(random: Random): string {
  const most = random.pick(counts);
  const delays = "queue_length_threshold: 1, upscale_delay_seconds: 2, downscale_delay_seconds: 10";
  const scaling = random.pick([
    `workers: ${most}`,
    `min_workers: ${random.between(0, most)}, max_workers: ${most}, ${delays}`,
  ]);
  return `pool: {${scaling}}\nsetup: sleep ${random.between(1, 10)}\n`;
}

const apply = (user: string, pool: string, input: Record<string, unknown>): Undated => ({
  ...{ do: "call", user, operation: "jobs.pool_apply" },
  input: { pool_name: pool, ...input },
});

export const aPoolApply = (random: Random, user: string, pool: string): Undated =>
  apply(user, pool, { task: aPool(random), mode: random.pick(["rolling", "blue_green"]) });

export function aPoolWish(random: Random, user: string, pool: string): Undated {
  const call = (operation: string, input: Record<string, unknown>): Undated => ({
    ...{ do: "call", user, operation: `jobs.${operation}`, input },
  });
  return random.pick<() => Undated>([
    () => aPoolApply(random, user, pool),
    () => apply(user, pool, { workers: random.pick(counts) }),
    () => apply(user, pool, { workers: random.pick(counts) }),
    () => call("pool_down", { pool_names: [pool], purge: random.chance(0.5) }),
    () => call("cancel", { pool }),
    () => ({
      ...{ do: "read", user, operation: "jobs.pool_status", name: pool },
      input: { pool_names: [pool] },
    }),
  ])();
}

/** How many workers a pool may have. */
export interface WorkerBounds {
  readonly fewest: number;
  readonly most: number;
}

/** The fewest and the most workers that any of these steps asks a pool for. */
export function workerBoundsIn(steps: readonly Step[]): WorkerBounds {
  const asked = steps.flatMap((step) => {
    if (step.do !== "call" || step.operation !== "jobs.pool_apply") return [];
    const { workers = null, task } = step.input;
    const counts = workers === null ? String(task).matchAll(/workers: (\d)/g) : [["", workers]];
    return [...counts].map(([, count]) => Number(count));
  });
  return { fewest: Math.min(...asked), most: Math.max(0, ...asked) };
}
