import type { HookEvent } from "../../contract/hooks.ts";
import type { ClusterStatusRecord, LifecycleRecord } from "../../contract/records/clusters.ts";
import { type LifecycleStatus, lifecycleMachine } from "../../contract/statuses.ts";
import { duration } from "../rendering.ts";

const doings: Readonly<Record<HookEvent, string>> = {
  stop: "stopping",
  down: "going down",
  preemption: "taken away",
};

const steps: Readonly<Record<LifecycleStatus, string>> = {
  HOOKS: "hooks",
  JOBS: "ending jobs",
  READY: "ready to go",
  LEAVING: "nodes leave",
  DONE: "done",
  CANCELLED: "taken back",
};

type Row = Pick<ClusterStatusRecord, "lifecycle" | "nodes">;

/** Whether a cluster is about to stop or go; one that was taken back only has a hook to its end. */
export const isUnderWay = ({ lifecycle }: Pick<Row, "lifecycle">): boolean =>
  lifecycle ? !lifecycleMachine.isFinal(lifecycle.phase) : false;

/** What happens to a cluster: `stopping: hook 2 of 3, 41s (stop by ann)`; `-` when nothing does. */
export function underWayOf({ lifecycle, nodes }: Row, now: Date): string {
  if (!lifecycle) return "-";
  const { action, phase, node, because, deadline_at: deadline } = lifecycle;
  const doing = isUnderWay({ lifecycle }) ? doings[action] : steps[phase];
  const who = action === "preemption" && nodes > 1 ? `node ${node} ` : "";
  const left = deadline === null ? "" : `, ${untilText(deadline, now, "gone")}`;
  return `${who}${doing}: ${stepOf(lifecycle, now)}${left} (${because})`;
}

function stepOf({ phase, hook }: LifecycleRecord, now: Date): string {
  if (hook === null) return steps[phase];
  const begun = hook.started_at ?? now.getTime() / 1000;
  const runs = duration(Math.max(0, now.getTime() / 1000 - begun));
  return `hook ${hook.index + 1} of ${hook.of}, ${runs}`;
}

/**
 * When a cluster stops by itself: `10m (stops in 4m)`, `10m (waits for job 3)`; `-` when it does not. While
 * something else is under way it is `10m`.
 */
export function autostopOf(row: ClusterStatusRecord, now: Date): string {
  const { autostop, to_down: isDown, idle } = row;
  if (autostop < 0) return "-";
  if (isUnderWay(row)) return `${autostop}m`;
  const stopsAt = idle?.stops_at ?? null;
  const [first, ...others] = idle?.kept_alive_by ?? [];
  const more = others.length > 0 ? ` +${others.length}` : "";
  const keeper = first && `waits for ${first}${more}`;
  const facts =
    stopsAt === null
      ? [isDown && "down", keeper].filter(Boolean).join(", ")
      : untilText(stopsAt, now, isDown ? "down" : "stops");
  return facts === "" ? `${autostop}m` : `${autostop}m (${facts})`;
}

/** `stops in 4m`, and `stops now` once it is time. */
function untilText(seconds: number, now: Date, what: string): string {
  const left = seconds - now.getTime() / 1000;
  return left < 1 ? `${what} now` : `${what} in ${duration(left).split(" ")[0]}`;
}
