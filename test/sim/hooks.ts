import { Readable } from "node:stream";
import type { UnservedAgent } from "../helpers/fake-agent.ts";
import { type FakeLifecycle, openOf } from "../helpers/fake-lifecycles.ts";
import type { FakeNode } from "../helpers/fake-node.ts";
import type { Clock } from "./clock.ts";

/** A node whose hooks run, and its agent, while it answers. */
export interface Hooked {
  readonly node: FakeNode;
  agent: UnservedAgent | undefined;
}

/** That a hook was begun on a node, in one of the times that it was on. */
export interface HookBegun {
  readonly nodeId: string;
  readonly boot: number;
  readonly index: number;
  readonly event: string;
  readonly lifecycleId: string;
  /** Its lifecycle was taken back: the next one may run it again. */
  isTakenBack: boolean;
}

/** The hooks of nodes: each takes as long as its `sleep` says, or as it may. */
export interface Hooks {
  /** Lets the hooks that have begun end in time. */
  tend(node: Hooked): void;
  /** Control took a lifecycle back. */
  takenBack(lifecycleId: string): void;
  /** A node is on again, and so is its agent. */
  rebooted(node: FakeNode, agent: UnservedAgent): void;
  /** All that were begun, in their order. */
  readonly begun: readonly HookBegun[];
}

const noExchange = { body: Readable.from([]), signal: new AbortController().signal };
const againMs = 1_500;

/** Opens what lets hooks end. */
export function openHooks(clock: Clock): Hooks {
  const tended = new Set<object>();
  const boots = new Map<string, number>();
  const begun: HookBegun[] = [];

  function tend(machine: Hooked): void {
    const { node } = machine;
    for (const one of node.lifecycles)
      for (const run of one.runs) {
        if (run.status !== "RUNNING") continue;
        if (one.endedAt !== null)
          Object.assign(run, { status: "INTERRUPTED", endedAt: Date.now() });
        else if (!tended.has(run)) begin(machine, one, run);
      }
  }

  function begin(machine: Hooked, one: FakeLifecycle, run: FakeLifecycle["runs"][number]): void {
    tended.add(run);
    const { id: nodeId } = machine.node;
    const { index, event } = run;
    begun.push({
      nodeId,
      boot: boots.get(nodeId) ?? 0,
      index,
      event,
      lifecycleId: one.id,
      isTakenBack: false,
    });
    const { timeoutSeconds, run: script } = one.list[run.index] ?? { timeoutSeconds: 1, run: "" };
    const seconds = Number(/\d+/.exec(script)?.[0] ?? 1);
    const isLate = seconds > timeoutSeconds;
    const end = () => {
      if (run.status !== "RUNNING" || one.endedAt !== null) return;
      if (machine.agent === undefined) return clock.after(againMs, end);
      clock.onNode(() =>
        machine.agent?.endHook(isLate ? 124 : 0, isLate ? "TIMED_OUT" : undefined),
      );
      tend(machine);
    };
    clock.after(Math.min(seconds, timeoutSeconds) * 1_000, end);
  }

  function rebooted(node: FakeNode, agent: UnservedAgent): void {
    boots.set(node.id, (boots.get(node.id) ?? 0) + 1);
    for (const one of node.lifecycles) takeOver(one);
    const open = openOf(node);
    if (open === undefined) return;
    const { id, cause, because, deadlineAt, events } = open;
    const order = { id, cause, because, deadlineAt, event: events[0] ?? "stop", skipHooks: false };
    agent.bound.beginLifecycle(order, noExchange);
    tend({ node, agent });
  }

  function takenBack(lifecycleId: string): void {
    for (const one of begun) one.isTakenBack ||= one.lifecycleId === lifecycleId;
  }

  return { tend, takenBack, rebooted, begun };
}

/** What another boot left is not what it was: as the agent's `afterReboot`. */
function takeOver(one: FakeLifecycle): void {
  if (one.endedAt !== null) return;
  const events = one.events.filter((event) => event !== "preemption");
  const isBack = events.length === 0 || one.status === "READY";
  for (const run of one.runs)
    if (run.status === "RUNNING")
      Object.assign(run, { status: "INTERRUPTED", endedAt: Date.now() });
  one.revision += 1;
  if (!isBack) one.events = events;
  else
    Object.assign(one, { status: events.length > 0 ? "DONE" : "CANCELLED", endedAt: Date.now() });
}
