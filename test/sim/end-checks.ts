import type { Autostop } from "../../contract/agent-shapes.ts";
import { Violation } from "./checks.ts";
import { prepare, rows } from "./database.ts";
import type { HookBegun } from "./hooks.ts";

/** Looks at what is on disk once everything has settled. */
export interface EndChecks {
  /** No request met a bug. */
  requests(): void;
  /** What heads do once they are idle is what their clusters' rows say. */
  idle(ofHead: (clusterId: string) => Autostop | undefined): void;
  /** While all nodes are well, none is called lost or unwell; `brokenIds` are the clusters whose tasks break down. */
  nodesAreWell(brokenIds: ReadonlySet<string>): void;
  /** Notes what may be forgotten from now on, and is needed here. */
  remember(): void;
  /** No hook ran twice while its node was on, but in a lifecycle that was taken back. */
  hooks(begun: readonly HookBegun[]): void;
}

/** That a provider did not answer in time is all that a program which was paused can know. */
const calledUnwell = `SELECT noun, subject_id AS id, to_status AS "to", reason FROM events WHERE
  (noun = 'replica' AND to_status IN ('PREEMPTED', 'FAILED', 'FAILED_INITIAL_DELAY', 'FAILED_PROBING',
    'FAILED_PROVISION', 'NOT_READY')) OR
  (noun = 'cluster' AND from_status = 'UP' AND to_status = 'INIT'
    AND reason NOT LIKE '%did not answer within%')`;

/** Opens them on the database of control. */
export function openEndChecks(): EndChecks {
  const requests = prepare("SELECT name, error FROM requests");
  const up = prepare(
    "SELECT id, name, coalesce(autostop, 'null') AS autostop FROM clusters WHERE status = 'UP'",
  );
  const unwell = prepare(calledUnwell);
  const takenBack = prepare("SELECT id FROM lifecycles WHERE status = 'CANCELLED'");
  const cancelled = new Set<string>();
  const remember = () => {
    for (const { id } of rows<{ id: string }>(takenBack)) cancelled.add(id);
  };

  return {
    requests() {
      for (const { name, error } of rows<{ name: string; error: string | null }>(requests))
        if (error?.includes('"InternalError"'))
          throw new Violation("a request met a bug", `${name}: ${error}`);
    },
    idle(ofHead) {
      for (const { id, name, autostop } of rows<{ id: string; name: string; autostop: string }>(
        up,
      )) {
        const { idleMinutes = null, down = false } = JSON.parse(autostop) ?? {};
        const head = ofHead(id);
        if (head === undefined) continue;
        const idleMs = idleMinutes && idleMinutes * 60_000;
        if (head.idleMs !== idleMs || head.down !== down)
          throw new Violation("a head has another autostop", `${name}: ${autostop}, ${idleMs}`);
      }
    },
    nodesAreWell(brokenIds) {
      const events = rows<Record<"noun" | "id" | "to" | "reason", string>>(unwell);
      // The cluster of a replica has its id.
      for (const { noun, id, to, reason } of events)
        if (!brokenIds.has(id))
          throw new Violation("what is well is called unwell", `${noun} ${to}: ${reason}`);
    },
    remember,
    hooks(begun) {
      remember();
      const last = new Map<string, HookBegun>();
      for (const one of begun) {
        const { nodeId, boot, index, event } = one;
        const key = `hook ${index} (${event}) in boot ${boot} of ${nodeId}`;
        const before = last.get(key);
        if (before !== undefined && !before.isTakenBack && !cancelled.has(before.lifecycleId))
          throw new Violation("a hook ran again", key);
        last.set(key, one);
      }
    },
  };
}
