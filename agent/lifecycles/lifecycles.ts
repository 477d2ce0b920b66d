import { randomUUID } from "node:crypto";
import { fail } from "../../common/errors.ts";
import { readBootId } from "../../common/process-tree.ts";
import { hookEvents } from "../../contract/hooks.ts";
import type { HookSet, Lifecycle, LifecycleOrder } from "../../contract/lifecycle-shapes.ts";
import { lifecycleMachine } from "../../contract/statuses.ts";
import { type Agent, keys } from "../context.ts";
import { makeSpareFolder } from "../folders.ts";
import { hookLogOf, sizeOfHookLog } from "../hooks/logs.ts";
import { refuseWithoutLease } from "../lease-file.ts";
import { beginRow, describe, hasten, sharpen, takenBack, withoutAsked } from "./lifecycle.ts";
import type { LifecycleRow, Moment } from "./row.ts";
import {
  findHookSet,
  findLifecycle,
  findOpenLifecycle,
  listLifecycleRows,
  listUnsettled,
  saveLifecycle,
  setHookSet,
} from "./store.ts";
import { leftMsOf } from "./time.ts";

/** Replaces the hooks that the next lifecycle begins with. */
export function putHooks(agent: Agent, set: HookSet): void {
  setHookSet(agent.journal, set);
  makeSpareFolder(agent, set.hooks.length);
  agent.log.info({ version: set.version, hooks: set.hooks.length }, "hooks put");
}

/**
 * Begins a lifecycle, or joins, sharpens or hastens the one that is under way; answers that one. An
 * id that was seen before is that lifecycle. Throws `ConflictError` for a stop during a teardown.
 * Not to be called in a transaction.
 */
export function beginLifecycle(agent: Agent, order: LifecycleOrder): Lifecycle {
  const known = findLifecycle(agent, order.id);
  if (known !== undefined && known.endedAt !== null) return toLifecycle(agent, known);
  const open = findOpenLifecycle(agent);
  const row = open === undefined ? begin(agent, order) : join(agent, open, order);
  for (const ended of listUnsettled(agent))
    if (ended.endedAt !== null) writeLifecycle(agent, hasten(ended, order, momentOf(agent)));
  return toLifecycle(agent, row);
}

/** The provider takes the node away, at `deadlineAt` or after the grace that the agent was started with. */
export function beginPreemption(
  agent: Agent,
  { because, deadlineAt }: { because: string; deadlineAt: number | null },
): Lifecycle {
  return beginLifecycle(agent, {
    id: randomUUID(),
    event: "preemption",
    cause: "provider",
    because,
    deadlineAt: deadlineAt ?? agent.now() + agent.config.graceMs,
    skipHooks: false,
  });
}

/**
 * Takes a lifecycle back: no further hook begins, a running one ends by itself, jobs are taken
 * again. One that is READY is DONE, one that has ended stays as it is, and of one that met a
 * preemption only that is left. Throws `NotFoundError`.
 */
export function cancelLifecycle(agent: Agent, id: string, reason = takenBack): Lifecycle {
  const row = getRow(agent, id);
  if (row.endedAt !== null) return toLifecycle(agent, row);
  const left = withoutAsked(row);
  if (left !== undefined) return toLifecycle(agent, moveLifecycle(agent, left, reason));
  const status = row.status === "READY" ? "DONE" : "CANCELLED";
  return toLifecycle(
    agent,
    moveLifecycle(agent, { ...row, status, skip: row.skip ?? reason }, reason),
  );
}

/** The lifecycle; throws `NotFoundError`. */
export const getLifecycle = (agent: Agent, id: string): Lifecycle =>
  toLifecycle(agent, getRow(agent, id));

/** The latest lifecycles, newest first. */
export const listLifecycles = (agent: Agent): Lifecycle[] =>
  listLifecycleRows(agent).map((row) => toLifecycle(agent, row));

/** Somebody has fetched the whole of the logs; throws `NotFoundError`. */
export function confirmLogs(agent: Agent, id: string): Lifecycle {
  const row = getRow(agent, id);
  if (row.areLogsConfirmed) return toLifecycle(agent, row);
  return toLifecycle(agent, writeLifecycle(agent, { ...row, areLogsConfirmed: true }));
}

/** Throws `ConflictError` while the node is about to go, or once its lease is over: it takes no job any more. */
export function refuseWhileLeaving(agent: Agent): void {
  refuseWithoutLease(agent);
  const open = findOpenLifecycle(agent);
  if (open === undefined) return;
  fail("ConflictError", `jobs are not accepted: ${describe(open)}`, { lifecycle: open.id });
}

/** The row of a lifecycle; throws `NotFoundError`. */
export const getRow = (agent: Agent, id: string): LifecycleRow =>
  findLifecycle(agent, id) ?? fail("NotFoundError", `there is no lifecycle ${id} on this node`);

/** Writes a lifecycle whose status changed, with the event that tells of it, and says so. */
export function moveLifecycle(agent: Agent, to: LifecycleRow, reason?: string): LifecycleRow {
  const { id, status, events, because } = to;
  const from = getRow(agent, id).status;
  if (from !== status && !lifecycleMachine.allows(from, status))
    fail("StatusError", `lifecycle ${id} cannot go from ${from} to ${status}`);
  const endedAt = lifecycleMachine.isFinal(status) ? agent.now() : null;
  agent.log.info({ lifecycle: id, from, to: status, events, because, reason }, "lifecycle moved");
  return writeLifecycle(agent, { ...to, endedAt }, [status]);
}

/** Writes what changed of a lifecycle, and tells those who wait for it. */
export function writeLifecycle(
  agent: Agent,
  changed: LifecycleRow,
  tells: readonly string[] = [],
): LifecycleRow {
  const row = saveLifecycle(agent, changed, { tells });
  wake(agent);
  // A log is over with its lifecycle, also one that was never begun.
  for (const event of hookEvents) agent.changes.notify(keys.log(hookLogOf(agent, row.id, event)));
  return row;
}

/** The two clocks of now. */
export const momentOf = (agent: Pick<Agent, "now" | "monotonic">): Moment => ({
  at: agent.now(),
  monotonicMs: agent.monotonic(),
});

function begin(agent: Agent, order: LifecycleOrder): LifecycleRow {
  const { hooks, env, secrets } = findHookSet(agent.journal) ?? { hooks: [], env: {}, secrets: {} };
  const entries = hooks.map(({ events, timeoutSeconds }) => ({ events, timeoutSeconds }));
  const begun = beginRow(order, entries, momentOf(agent), readBootId());
  const spec = { scripts: hooks.map(({ run }) => run), env, secrets };
  const row = saveLifecycle(agent, begun, { spec, tells: [begun.status] });
  const { id, events, cause, because, deadline } = row;
  agent.log.info({ lifecycle: id, events, cause, because, deadline }, "lifecycle begun");
  wake(agent);
  return row;
}

function join(agent: Agent, open: LifecycleRow, order: LifecycleOrder): LifecycleRow {
  const row = sharpen(open, order, momentOf(agent));
  if (JSON.stringify(row) === JSON.stringify(open)) return open;
  return moveLifecycle(agent, row, order.because);
}

function wake({ changes }: Agent): void {
  for (const key of [keys.lifecycle, keys.work, keys.idle]) changes.notify(key);
}

function toLifecycle(agent: Agent, row: LifecycleRow): Lifecycle {
  const { id, revision, events, cause, because, status, startedAt, endedAt } = row;
  const { deadline, entries } = row;
  return {
    ...{ id, revision, events, cause, because, status, startedAt, endedAt },
    deadlineAt: deadline?.at ?? null,
    ...(deadline !== null && { leftMs: leftMsOf(deadline, agent.monotonic()) }),
    hooks: entries.length,
    runs: row.runs.map(({ startedMs: _, ending: __, logFrom: ___, ...run }) => run),
    logs: row.logs.map(({ event, sizeBytes }) => ({
      event,
      sizeBytes: sizeOfHookLog(agent, row, event),
      isOver: sizeBytes !== null,
    })),
  };
}
