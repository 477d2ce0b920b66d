import { type Changes, openChanges } from "../common/changes.ts";
import type { Config } from "./config.ts";
import { type Journal, openJournal } from "./journal.ts";
import type { Log } from "./log.ts";
import { openWatches, type Watches } from "./watch.ts";

/** The world of everything in the agent. */
export interface Agent {
  readonly config: Config;
  readonly log: Log;
  readonly journal: Journal;
  /** Woken by the keys below. */
  readonly changes: Changes;
  readonly watches: Watches;
  readonly startedAt: number;
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since boot, whatever happens to the wall clock. */
  monotonic(): number;
  /** Aborts when the agent leaves; what it started goes on without it. */
  readonly stopping: AbortSignal;
}

/** What can change: a reader waits for a key and then reads the journal or the file again. */
export const keys = {
  job: (id: number) => `job:${id}`,
  log: (path: string) => `log:${path}`,
  merge: (id: number) => `merge:${id}`,
  events: "events",
  /** Something may be started or led. */
  work: "work",
  idle: "idle",
} as const;

/** Opens the agent's world; throws `ConflictError` when another agent serves the same home. */
export function openAgent(config: Config, log: Log, stopping: AbortSignal): Agent {
  const changes = openChanges();
  return {
    config,
    log,
    journal: openJournal(config.agentFolder),
    changes,
    watches: openWatches((path) => changes.notify(keys.log(path))),
    startedAt: Date.now(),
    now: Date.now,
    monotonic: () => Number(process.hrtime.bigint() / 1_000_000n),
    stopping,
  };
}
