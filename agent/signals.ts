import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { LifecycleOrder } from "../contract/lifecycle-shapes.ts";
import type { Config } from "./config.ts";
import { type Agent, keys } from "./context.ts";
import { beginLifecycle } from "./lifecycles/lifecycles.ts";
import type { LifecycleRow } from "./lifecycles/row.ts";
import { findLifecycle, findOpenLifecycle } from "./lifecycles/store.ts";
import { untilDue } from "./timer.ts";

/** The signals that mean something to the agent. */
const names = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] as const;
type Signal = (typeof names)[number];

/** Signals in the order in which they came. */
export interface Signals {
  /** Tells of those that came already, and of each to come. */
  listen(react: (signal: Signal) => void): void;
}

/** Why the agent leaves, and the exit code that it leaves with. */
export interface Dismissal {
  readonly because: string;
  readonly exitCode: number;
}

/** What was heard so far, by the clock since boot. */
export interface Heard {
  readonly isLeaving: boolean;
  /** How many that count: the second is none when the first is long ago. */
  readonly interrupts: number;
  readonly interruptedMs: number;
}

export type Reaction = "leave in order" | "skip hooks" | "exit" | "ignore";

export const nothingHeard: Heard = { isLeaving: false, interrupts: 0, interruptedMs: 0 };

/** A second SIGINT within this time is impatience, later it is one more of the same. */
const impatienceMs = 5_000;
/** As of a shell whose program a SIGINT ended. */
const interruptedCode = 130;
/** It leaves this long before it would be killed. */
const lastMomentMs = 500;
const systemctlMs = 2_000;
/** Control fetches logs while they grow; where it is away, a shutdown is not held up for long. */
const logsMs = 10_000;

/** Hears signals from now on; none is lost before somebody listens. */
export function hearSignals(): Signals {
  const waiting: Signal[] = [];
  let react = (signal: Signal): void => void waiting.push(signal);
  for (const name of names) process.on(name, () => react(name));
  return {
    listen(listener) {
      react = listener;
      for (const signal of waiting.splice(0)) listener(signal);
    },
  };
}

/** What a signal makes the agent do after what was heard before, and what is heard then. Pure. */
export function reactTo(signal: Signal, before: Heard, nowMs: number): [Reaction, Heard] {
  const { isLeaving, interrupts, interruptedMs } = before;
  const after = { ...before, isLeaving: true };
  const orderly = isLeaving ? "ignore" : "leave in order";
  // The terminal is gone; settings are read at the start alone.
  if (signal === "SIGHUP") return ["ignore", before];
  if (signal === "SIGTERM") return [orderly, after];
  if (signal === "SIGQUIT") return ["skip hooks", after];
  if (interrupts === 2) return ["exit", after];
  const isImpatient = interrupts === 1 && nowMs - interruptedMs <= impatienceMs;
  const counted = { ...after, interrupts: isImpatient ? 2 : 1, interruptedMs: nowMs };
  return [isImpatient ? "skip hooks" : orderly, counted];
}

/** Resolves once signals made the agent ready to leave: after the hooks if the node ends with it. */
export function untilDismissed(agent: Agent, signals: Signals): Promise<Dismissal> {
  const { promise, resolve, reject } = Promise.withResolvers<Dismissal>();
  let heard = nothingHeard;
  signals.listen((signal) => {
    const [reaction, after] = reactTo(signal, heard, agent.monotonic());
    heard = after;
    agent.log.info({ signal, reaction }, "signal");
    if (reaction === "ignore") return;
    if (reaction === "exit") return resolve({ because: signal, exitCode: interruptedCode });
    const dismissal = { because: signal, exitCode: 0 };
    leaveInOrder(agent, signal, reaction === "skip hooks").then(() => resolve(dismissal), reject);
  });
  return promise;
}

/** Resolves when the agent may leave: at once where its node goes on, and no hook is to be ended. */
async function leaveInOrder(agent: Agent, signal: Signal, skipHooks: boolean): Promise<void> {
  const isEnd = await isNodesEnd(agent.config);
  const open = findOpenLifecycle(agent);
  if (!isEnd && (open === undefined || !skipHooks)) return;
  const deadlineAt = isEnd ? agent.now() + agent.config.graceMs : null;
  const order = { because: `${signal} to the agent`, deadlineAt, skipHooks };
  const { id } = beginLifecycle(agent, { ...eventOf(open), ...order });
  await untilReady(agent, id, isEnd && !skipHooks);
}

/** What is under way already only learns of its deadline: our own stop or down is no preemption. */
const eventOf = (open?: LifecycleRow): Pick<LifecycleOrder, "id" | "event" | "cause"> => ({
  id: open?.id ?? randomUUID(),
  event: open?.events[0] ?? "preemption",
  cause: open?.cause ?? "provider",
});

/** Whether a signal to leave means that the node ends, and not only its agent. */
async function isNodesEnd({ onTerm, isService }: Config): Promise<boolean> {
  if (onTerm !== "auto") return onTerm === "preemption";
  return !isService || isMachineStopping();
}

/** Whether systemd turns the machine off or starts it anew. */
const isMachineStopping = (): Promise<boolean> =>
  new Promise((resolve) => {
    const options = { timeout: systemctlMs };
    // It fails whenever the machine is not in perfect order; what it says counts.
    execFile("systemctl", ["is-system-running"], options, (_, said) =>
      resolve(said.trim() === "stopping"),
    );
  });

/** Waits until the node may go and, if asked, its logs were fetched; no longer than it has. */
function untilReady(agent: Agent, id: string, needsLogs: boolean): Promise<void> {
  let logsUntilMs = needsLogs ? undefined : 0;
  const atMs = () => {
    const row = findLifecycle(agent, id);
    if (row?.status === "READY") logsUntilMs ??= agent.monotonic() + logsMs;
    return leaveAtMs(row, logsUntilMs ?? 0);
  };
  return untilDue(agent, keys.lifecycle, atMs, agent.stopping);
}

/**
 * When an agent that was told to may leave, since boot, and how long it waits for its logs to be
 * fetched; 0 is at once, undefined nobody knows yet.
 */
export function leaveAtMs(row: LifecycleRow | undefined, logsUntilMs: number): number | undefined {
  if (row === undefined || row.endedAt !== null) return 0;
  const lastMs = row.deadline === null ? undefined : row.deadline.monotonicMs - lastMomentMs;
  if (row.status !== "READY") return lastMs;
  if (row.areLogsConfirmed || row.logs.length === 0) return 0;
  return Math.min(logsUntilMs, lastMs ?? logsUntilMs);
}
