import type { Idle } from "../../contract/agent-shapes.ts";
import type { HookRun } from "../../contract/lifecycle-shapes.ts";
import type { IdleRecord, LifecycleRecord } from "../../contract/records/clusters.ts";
import type { StoredLifecycle } from "../clusters/lifecycles/schema.ts";
import { seconds } from "./fields.ts";

/** A lifecycle as `/status` shows it. */
export function lifecycleRecord(lifecycle: StoredLifecycle): LifecycleRecord {
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
    started_at: seconds(startedAt),
    deadline_at: seconds(deadlineAt),
    hook: running
      ? {
          index: running.index,
          of: hooks,
          started_at: seconds(running.startedAt),
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
export const idleRecord = ({ idleSince, stopsAt, keptAliveBy }: Idle): IdleRecord => ({
  since: seconds(idleSince),
  stops_at: seconds(stopsAt),
  kept_alive_by: [...keptAliveBy],
});
