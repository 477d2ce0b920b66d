import type { HookEvent } from "../../../contract/hooks.ts";
import type { HookRun, Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import type { LifecycleStatus } from "../../../contract/statuses.ts";

/** A run as its node last told of it. */
export interface StoredRun extends HookRun {
  /** When control first heard that it runs, by its steady clock: that of the node may be set otherwise. */
  heardAt?: number;
}

/** One stop, teardown or preemption of a cluster, as one of its nodes told of it. */
export interface StoredLifecycle {
  id: string;
  clusterId: string;
  /** The node that leads it: the head, or the one that is taken away. */
  rank: number;
  /** What the node last told of it; 0 before it told anything. */
  revision: number;
  /** Whose hooks run, the most urgent first. */
  events: HookEvent[];
  cause: Lifecycle["cause"];
  because: string;
  status: LifecycleStatus;
  /** The node was told that no hook shall hold it up. */
  skipsHooks: boolean;
  /** How many entries the list has that is run. */
  hooks: number;
  runs: StoredRun[];
  /** By control's steady clock. */
  deadlineAt: number | null;
  startedAt: number;
  /** Null: it is open. */
  endedAt: number | null;
}
