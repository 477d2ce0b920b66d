import { hookNameOf } from "../../../contract/hooks.ts";
import type { HookRun } from "../../../contract/lifecycle-shapes.ts";
import type { StoredLifecycle, StoredRun } from "../lifecycles/schema.ts";

/** What is worth waiting for of hooks that were seen running. Pure. */

/** How long a hook that took too long has to end. */
const graceMs = 10_000;

/** The hook that ran when its node was last heard. */
export const runningOf = ({ runs }: Pick<StoredLifecycle, "runs">): StoredRun | undefined =>
  runs.findLast(({ status }) => status === "RUNNING");

/** How people know a hook of a lifecycle. */
export const nameOf = (run: HookRun, { hooks }: Pick<StoredLifecycle, "hooks">): string =>
  hookNameOf(run, hooks);

/**
 * When the hook that was seen running has ended for sure, by control's steady clock; undefined where none was.
 * Its time counts from when control heard of it, which is never before it began.
 */
export function hookOverAt(lifecycle: StoredLifecycle): number | undefined {
  const { startedAt, heardAt = startedAt, timeoutSeconds } = runningOf(lifecycle) ?? {};
  if (typeof heardAt !== "number") return undefined;
  const ownTimeOverAt = heardAt + (timeoutSeconds ?? 0) * 1000 + graceMs;
  return Math.min(ownTimeOverAt, lifecycle.deadlineAt ?? Number.POSITIVE_INFINITY);
}

/** What went wrong with the head of a cluster that leaves, as far as its hooks are concerned. */
export function lossOf(
  lifecycle: StoredLifecycle | undefined,
  { whenRunning, otherwise }: { whenRunning: string; otherwise: string },
): string {
  const run = lifecycle && runningOf(lifecycle);
  if (lifecycle === undefined || run === undefined) return `hooks skipped: ${otherwise}`;
  return `${nameOf(run, lifecycle)} ran when ${whenRunning}`;
}

/** Preemptions of other nodes than the head that may still be under way. */
export const preemptionsBeside = (
  open: readonly StoredLifecycle[],
  at: number,
): StoredLifecycle[] =>
  open.filter(
    (one) =>
      one.rank > 0 &&
      one.events.includes("preemption") &&
      (one.status === "HOOKS" || one.status === "JOBS") &&
      at < (one.deadlineAt ?? hookOverAt(one) ?? 0),
  );
