import { setTimeout as sleep } from "node:timers/promises";
import { toAppError } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import { listEvents } from "../../events.ts";
import type { Ground } from "../../ground.ts";
import { hookOverAt, lossOf, nameOf, preemptionsBeside, runningOf } from "../hooks/time.ts";
import { later, ofHead } from "../planning.ts";
import { remark } from "../provision-log.ts";
import { type Cluster, eventOf } from "../schema.ts";
import { leaveWithout } from "./leave.ts";
import { listOpen } from "./store.ts";

const pauseMs = 200;

/**
 * Has the head of a cluster that leaves do something. One that cannot, for as long as the setting
 * says, holds nothing up: the hooks are skipped. But one whose hook was seen running is tried again
 * `later`, as long as that may run. One that went away meanwhile may be left to the next look at it.
 */
export async function atHead(
  ctx: Ground,
  cluster: Cluster,
  signal: AbortSignal,
  whenAway: "insist" | "look again",
  work: (withinMs: number) => Promise<void>,
): Promise<typeof later | undefined> {
  const patienceMs = (await isWaitedFor(ctx, cluster)) ? 0 : ctx.config.headPatienceSeconds * 1000;
  const until = performance.now() + patienceMs;
  for (;;) {
    const left = until - performance.now();
    try {
      await work(left);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      ctx.log.debug({ err: error, clusterId: cluster.id }, "head not ready to leave");
      const { type, message } = toAppError(error);
      const isAway = type === "UnreachableError";
      if (isAway && whenAway === "look again") return undefined;
      const why = isAway ? "does not answer" : `is not available: ${message}`;
      if (left < pauseMs) return giveUp(ctx, cluster, why);
    }
    await sleep(pauseMs, undefined, { signal });
  }
}

/** Goes on without the head, unless something may still run that was seen running. */
async function giveUp(
  ctx: Ground,
  cluster: Cluster,
  why: string,
): Promise<typeof later | undefined> {
  const open = await listOpen(ctx.db, cluster.id);
  const wait = await waitOf(ctx, cluster);
  if (wait !== undefined && !(await isTold(ctx, cluster, wait)))
    await remark(ctx, cluster.id, `the head of ${cluster.name} ${why}; ${wait}`);
  const isHeldUp = !cluster.skipHooks && preemptionsBeside(open, ctx.steadyNow()).length > 0;
  if (wait !== undefined || isHeldUp) return later;
  const loss = lossOf(ofHead(open), {
    whenRunning: `the head of ${cluster.name} was last heard; it ${why}`,
    otherwise: `the head of ${cluster.name} ${why}`,
  });
  await leaveWithout(ctx, cluster, loss);
}

/** Whether the head was waited for in vain before, and its hook may still run. */
async function isWaitedFor(ctx: Ground, cluster: Cluster): Promise<boolean> {
  const wait = await waitOf(ctx, cluster);
  return wait !== undefined && (await isTold(ctx, cluster, wait));
}

/** For what is waited and until when, and the way out; undefined where no hook may run any more. */
async function waitOf(ctx: Ground, cluster: Cluster): Promise<string | undefined> {
  const head = ofHead(await listOpen(ctx.db, cluster.id));
  if (head === undefined || cluster.skipHooks) return undefined;
  const run = runningOf(head);
  const overAt = hookOverAt(head) ?? 0;
  if (run === undefined || overAt <= ctx.steadyNow()) return undefined;
  const until = new Date(overAt).toISOString().replace(/\.\d+Z$/, "Z");
  const wayOut = `${product.word} ${eventOf(cluster)} --skip-hooks ${cluster.name}`;
  return `${nameOf(run, head)} may run there until ${until} and control waits for it; to skip it: ${wayOut}`;
}

/** Whether an event says so already. */
async function isTold(ctx: Ground, { id }: Cluster, wait: string): Promise<boolean> {
  const events = await listEvents(ctx.db, "cluster", id, { kinds: ["remarks"], limit: 20 });
  return events.some(({ reason }) => reason.endsWith(wait));
}
