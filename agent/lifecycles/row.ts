import type { Hook, HookEvent } from "../../contract/hooks.ts";
import type { HookRun, HookSet, Lifecycle } from "../../contract/lifecycle-shapes.ts";

/** A lifecycle as the journal has it. Times `...Ms` of an instant count since boot. */

/** An instant by both clocks: of the wall for people, since boot for every wait. */
export interface Moment {
  readonly at: number;
  readonly monotonicMs: number;
}

/** When the node goes, and how much time there was when it was told so. */
export interface Deadline extends Moment {
  readonly budgetMs: number;
}

/** An entry of the list, without its script. */
export type Entry = Pick<Hook, "events" | "timeoutSeconds">;

/** That a running hook is being ended: TERM was sent, KILL comes at an instant since boot. */
export interface Ending {
  readonly status: "TIMED_OUT" | "INTERRUPTED";
  readonly reason: string;
  readonly killMs: number;
}

/** A run of an entry as the journal has it. */
export type Run = HookRun & {
  /** When it began since boot. */
  readonly startedMs: number | null;
  readonly ending: Ending | null;
  /** Where in the event's log its output begins. */
  readonly logFrom: number;
};

/** A lifecycle as the journal has it. */
export interface LifecycleRow
  extends Pick<
    Lifecycle,
    "id" | "revision" | "events" | "cause" | "because" | "status" | "startedAt"
  > {
  /** Every event that was asked for, also those that others took the place of. */
  readonly asked: Lifecycle["events"];
  /** The boot that every instant since boot belongs to. */
  readonly bootId: string;
  readonly deadline: Deadline | null;
  readonly endedAt: number | null;
  readonly entries: readonly Entry[];
  readonly runs: readonly Run[];
  /** Why no further hook begins; null while they may. */
  readonly skip: string | null;
  /** Events whose log was begun; the size is known once nobody writes any more. */
  readonly logs: readonly { readonly event: HookEvent; readonly sizeBytes: number | null }[];
  /** Whether somebody has fetched the whole of the logs. */
  readonly areLogsConfirmed: boolean;
  /** Whether it needs nobody any more who leads it: it has ended, and so has its last hook. */
  readonly isSettled: boolean;
}

/** What the hooks of a lifecycle are: their scripts by index, and what they run in. */
export interface LifecycleSpec extends Pick<HookSet, "env" | "secrets"> {
  readonly scripts: readonly string[];
}

/** A lifecycle that the disk had no room for yet, and the events that tell of it. */
export interface Unsaved {
  readonly row: LifecycleRow;
  readonly spec?: LifecycleSpec;
  readonly tells: readonly string[];
}
