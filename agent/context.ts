import { uptime } from "node:os";
import { type Changes, openChanges } from "../common/changes.ts";
import type { Log } from "../common/log.ts";
import type { Config } from "./config.ts";
import { findGroupPlaces, type GroupPlace } from "./control-groups.ts";
import { type Journal, openJournal } from "./journal.ts";
import { type Lease, readLease } from "./lease-file.ts";
import type { Unsaved } from "./lifecycles/row.ts";
import { openWatches, type Watches } from "./watch.ts";

/** The world of everything in the agent. */
export interface Agent {
  readonly config: Config;
  readonly log: Log;
  readonly journal: Journal;
  /** Woken by the keys below. */
  readonly changes: Changes;
  readonly watches: Watches;
  /** Where each folder of scripts has control groups of its own; empty where the agent cannot make any. */
  readonly groupPlaces: readonly GroupPlace[];
  /** How often a log was written anew in its place, by path: what was read meanwhile may be wrong. */
  readonly rewrites: Map<string, number>;
  /** Who has an event stream open. */
  readonly readers: Set<Reader>;
  /** The shells that are open, by id. */
  readonly shells: Set<string>;
  /** Lifecycles that the disk had no room for yet, by id. */
  readonly unsaved: Map<string, Unsaved>;
  /** How long what runs here may do so without control; undefined without a limit. */
  lease: Lease | undefined;
  readonly startedAt: number;
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since boot, whatever happens to the wall clock. */
  monotonic(): number;
  /** The same with the time that the machine slept. */
  uptime(): number;
  /** Aborts when the agent leaves; what it started goes on without it. */
  readonly stopping: AbortSignal;
}

/** Somebody who reads events as they happen. */
export interface Reader {
  /** The number of the latest event that was sent to it whole. */
  heard: number;
  /** Jobs whose logs have grown since it was told. */
  readonly grown: Set<number>;
}

/** The clocks that the agent lives by. */
export type Clock = Pick<Agent, "now" | "monotonic" | "uptime">;

const realClock: Clock = {
  now: Date.now,
  monotonic: () => Number(process.hrtime.bigint() / 1_000_000n),
  uptime: () => Math.round(uptime() * 1_000),
};

/** What can change: a reader waits for a key and then reads the journal or the file again. */
export const keys = {
  job: (id: number) => `job:${id}`,
  log: (path: string) => `log:${path}`,
  merge: (id: number) => `merge:${id}`,
  events: "events",
  /** What readers of events have. */
  heard: "heard",
  /** Something may be started or led. */
  work: "work",
  idle: "idle",
  mounts: "mounts",
  lease: "lease",
  /** A lifecycle, one of its hooks, or what it ends: a job or a rank is over. */
  lifecycle: "lifecycle",
} as const;

/** Opens the agent's world; throws `ConflictError` when another agent serves the same home. */
export function openAgent(
  config: Config,
  log: Log,
  stopping: AbortSignal,
  clock: Clock = realClock,
): Agent {
  const changes = openChanges();
  return {
    config,
    log,
    journal: openJournal(config.agentFolder),
    changes,
    watches: openWatches((path) => changes.notify(keys.log(path))),
    groupPlaces: findGroupPlaces(),
    rewrites: new Map(),
    readers: new Set(),
    shells: new Set(),
    unsaved: new Map(),
    lease: readLease(config),
    startedAt: clock.now(),
    ...clock,
    stopping,
  };
}
