import * as z from "zod";
import { hookEvents } from "./hooks.ts";
import { hookRunMachine, lifecycleMachine } from "./statuses.ts";

/** What control and an agent say to each other of hooks and lifecycles; instants are epoch milliseconds. */

const Millis = z.int().min(0);
const Env = z.record(z.string(), z.string());
const Event = z.enum(hookEvents);

/** The hooks of a node, with what they run in. They take effect with the next lifecycle. */
export const HookSet = z.object({
  /** Chosen by control: another list has another one. */
  version: z.string().min(1),
  /** In the order in which they run. */
  hooks: z.array(
    z.object({ run: z.string(), events: z.array(Event).min(1), timeoutSeconds: z.int().min(1) }),
  ),
  env: Env.default({}),
  /** As `env`; kept sealed on disk, and masked in what is read of the hooks' logs. */
  secrets: Env.default({}),
});
export type HookSet = z.output<typeof HookSet>;

export const lifecycleCauses = ["user", "idle", "provider"] as const;

/** What begins a lifecycle, or changes the one that is under way. */
export const LifecycleOrder = z.object({
  /** The id of the lifecycle if this begins one; the same twice is the same lifecycle. */
  id: z.string().regex(/^[\w-]{1,64}$/),
  event: Event,
  cause: z.enum(lifecycleCauses),
  /** Who or what wants it, for people: `stop by ann`. */
  because: z.string(),
  /** When the node goes whatever happens; null is never. The earliest one told counts. */
  deadlineAt: Millis.nullable().default(null),
  /** The running hook is ended, no other begins. */
  skipHooks: z.boolean().default(false),
});
export type LifecycleOrder = z.output<typeof LifecycleOrder>;
export type GivenLifecycleOrder = z.input<typeof LifecycleOrder>;

/** How one entry of the list fared in a lifecycle. */
export const HookRun = z.object({
  /** Its place in the list; the first is 0. */
  index: z.int().min(0),
  /** What it ran for. */
  event: Event,
  status: z.enum(hookRunMachine.names),
  exitCode: z.int().nullable(),
  /** Why, where the status alone does not say. */
  reason: z.string().nullable(),
  startedAt: Millis.nullable(),
  endedAt: Millis.nullable(),
  timeoutSeconds: z.number().nullable(),
  /** The last lines that it printed, secrets masked; left out where it succeeded or printed nothing. */
  tail: z.string().optional(),
});
export type HookRun = z.output<typeof HookRun>;

/** What a node has of one event's log in one lifecycle. */
export const HookLog = z.object({ event: Event, sizeBytes: z.int().min(0), isOver: z.boolean() });
export type HookLog = z.output<typeof HookLog>;

/** A lifecycle as the node tells it. */
export const Lifecycle = z.object({
  id: z.string(),
  /** Grows with each change: of two answers that tell of it, this says which is the newer. */
  revision: z.int().min(0),
  /** Whose hooks run, the most urgent first: a stop that meets a preemption is both. */
  events: z.array(Event).min(1),
  cause: z.enum(lifecycleCauses),
  because: z.string(),
  status: z.enum(lifecycleMachine.names).exclude(["LEAVING"]),
  deadlineAt: Millis.nullable(),
  /** How long it was until the deadline when this was told; left out by older nodes. */
  leftMs: Millis.optional(),
  startedAt: Millis,
  endedAt: Millis.nullable(),
  /** How many entries the list has that is run. */
  hooks: z.int().min(0),
  /** Entries that were begun or skipped, in that order. */
  runs: z.array(HookRun),
  logs: z.array(HookLog),
});
export type Lifecycle = z.output<typeof Lifecycle>;
