import type { HookEvent } from "../../contract/hooks.ts";
import type { HookRun, Lifecycle } from "../../contract/lifecycle-shapes.ts";
import type { IdleRecord, LifecycleRecord } from "../../contract/records/clusters.ts";
import type { LifecycleStatus } from "../../contract/statuses.ts";

/** A lifecycle under way; instants are epoch milliseconds. */
export interface LifecycleView {
  readonly id: string;
  readonly rank: number;
  /** The most urgent first. */
  readonly events: readonly HookEvent[];
  readonly cause: Lifecycle["cause"];
  readonly because: string;
  readonly status: LifecycleStatus;
  readonly startedAt: number;
  readonly deadlineAt: number | null;
  /** How many entries the list has that is run. */
  readonly hooks: number;
  readonly runs: readonly HookRun[];
}

/** What an idle timer sees; instants are epoch milliseconds. */
export interface IdleView {
  readonly idleSince: number | null;
  readonly stopsAt: number | null;
  readonly keptAliveBy: readonly string[];
}

/** A lifecycle as `/status` shows it. */
export function lifecycleRecord(lifecycle: LifecycleView): LifecycleRecord {
  const { id, rank, events, cause, because, status, startedAt, deadlineAt, hooks, runs } =
    lifecycle;
  const running = runs.findLast((run) => run.status === "RUNNING");
  return {
    id,
    action: events[0] ?? "stop",
    cause,
    because,
    phase: status,
    node: rank,
    started_at: Math.floor(startedAt / 1000),
    deadline_at: secondsOf(deadlineAt),
    hook: running
      ? {
          index: running.index,
          of: hooks,
          started_at: secondsOf(running.startedAt),
          timeout: running.timeoutSeconds,
        }
      : null,
    hooks_run: runs.filter((run) => run !== running).map(runRecord),
  };
}

const runRecord = ({ index, event, status, exitCode, reason, startedAt, endedAt }: HookRun) => ({
  index,
  event,
  status,
  exit_code: exitCode,
  reason,
  seconds: startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1000,
});

/** What an idle timer sees, as `/status` shows it. */
export const idleRecord = ({ idleSince, stopsAt, keptAliveBy }: IdleView): IdleRecord => ({
  since: secondsOf(idleSince),
  stops_at: secondsOf(stopsAt),
  kept_alive_by: [...keptAliveBy],
});

const secondsOf = (ms: number | null): number | null =>
  ms === null ? null : Math.floor(ms / 1000);
