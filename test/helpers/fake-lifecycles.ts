import type { Changes } from "../../common/changes.ts";
import { fail } from "../../common/errors.ts";
import { readEnv } from "../../common/product.ts";
import type { Bound } from "../../common/server.ts";
import type { agentOperations } from "../../contract/agent-api.ts";
import type { Health, Idle } from "../../contract/agent-shapes.ts";
import type { HookEvent } from "../../contract/hooks.ts";
import type { lifecycleOperations } from "../../contract/lifecycle-api.ts";
import {
  type GivenLifecycleOrder,
  type HookLog,
  type HookRun,
  type HookSet,
  type Lifecycle,
  LifecycleOrder,
} from "../../contract/lifecycle-shapes.ts";
import { type HookRunStatus, hookRunMachine } from "../../contract/statuses.ts";
import { addEvent, endJob, type FakeNode, more } from "./fake-node.ts";

/** A lifecycle on a fake node, with the list that it began with and what its hooks wrote. */
export interface FakeLifecycle extends Lifecycle {
  readonly list: HookSet["hooks"];
  readonly texts: Map<HookEvent, string>;
}

/** What a test does to the lifecycles of a node. */
export interface LifecycleControls {
  /** Has the idle timer run out. */
  becomeIdle(): void;
  /** Has the provider say that it takes the node away. */
  preempt(because: string, deadlineAt?: number): void;
  /** Ends the hook that runs; those that come next begin, or the lifecycle goes on. */
  endHook(exitCode?: number, status?: HookRunStatus): void;
  /** Has the hook that runs write something. */
  printHook(text: string): void;
  /** Has a preemption turn out not to come. */
  spare(): void;
}

/** The newest lifecycle of a node. */
export const latestOf = ({ lifecycles }: FakeNode): FakeLifecycle =>
  lifecycles.at(-1) ?? fail("NotFoundError", "the node has no lifecycle");

/** The lifecycle that is under way. */
export const openOf = ({ lifecycles }: FakeNode): FakeLifecycle | undefined =>
  lifecycles.find(({ endedAt }) => endedAt === null);

export function controlsOf(node: FakeNode, changes: Changes): LifecycleControls {
  const order = (given: Omit<GivenLifecycleOrder, "id">) =>
    begin(node, changes, LifecycleOrder.parse({ ...given, id: `own-${++node.ownLifecycles}` }));
  return {
    becomeIdle() {
      const { down, idleMs } = node.autostop;
      const because = `idle for ${(idleMs ?? 0) / 60_000} min`;
      order({ event: down ? "down" : "stop", cause: "idle", because });
    },
    preempt(because, deadlineAt) {
      order({ event: "preemption", cause: "provider", because, deadlineAt: deadlineAt ?? null });
    },
    endHook(exitCode = 0, status = exitCode === 0 ? "SUCCEEDED" : "FAILED") {
      const one = node.lifecycles.find(runningIn) ?? fail("NotFoundError", "no hook runs");
      endRun(one, { exitCode, status, reason: null });
      tell(node, changes, one);
      lead(node, changes, one);
    },
    printHook(text) {
      const one = node.lifecycles.find(runningIn) ?? fail("NotFoundError", "no hook runs");
      const { event } = runningIn(one) ?? fail("NotFoundError", "no hook runs");
      one.texts.set(event, (one.texts.get(event) ?? "") + text);
      tell(node, changes, one);
    },
    spare() {
      const one = latestOf(node);
      Object.assign(one, { status: "CANCELLED", endedAt: Date.now() });
      tell(node, changes, one);
    },
  };
}

type Rows = typeof agentOperations;

/** The part of the agent's API that is about hooks and lifecycles. */
export const lifecycleRows = (
  node: FakeNode,
  changes: Changes,
  health: () => Health,
): Pick<Bound<Rows>, keyof typeof lifecycleOperations> => ({
  putHooks(hooks) {
    node.hooks = hooks;
    return health();
  },
  beginLifecycle(order) {
    node.onBegin();
    const one = begin(node, changes, order);
    node.onBegun();
    return toLifecycle(one);
  },
  async listLifecycles() {
    const told = structuredClone(node.lifecycles.toReversed().map(toLifecycle));
    await node.onListed();
    return told;
  },
  getLifecycle: ({ id }) => toLifecycle(get(node, id)),
  cancelLifecycle({ id }) {
    const one = get(node, id);
    if (one.endedAt !== null) return toLifecycle(one);
    if (one.events.includes("preemption")) one.events = ["preemption"];
    else {
      one.status = one.status === "READY" ? "DONE" : "CANCELLED";
      one.endedAt = Date.now();
    }
    tell(node, changes, one);
    return toLifecycle(one);
  },
  confirmLogs: ({ id }) => toLifecycle(get(node, id)),
  readHookLog({ id, event, offset, follow }, { signal }) {
    node.onReadLog();
    const content = hookText(changes, get(node, id), event, offset, follow, signal);
    return {
      type: "application/octet-stream",
      headers: { "log-offset": String(offset) },
      content,
    };
  },
  preempt({ because, deadlineAt }) {
    controlsOf(node, changes).preempt(because, deadlineAt ?? undefined);
    return toLifecycle(latestOf(node));
  },
});

/** What of the health of a node is about hooks and lifecycles. */
export function lifecycleHealth(node: FakeNode): Pick<Health, "hooksVersion" | "lifecycle"> {
  const open = openOf(node);
  return {
    hooksVersion: node.hooks?.version ?? null,
    lifecycle: open
      ? { id: open.id, cause: open.cause, events: open.events, status: open.status }
      : null,
  };
}

/** What the idle timer of a fake node sees. */
export const idleOf = ({ autostop, idle }: FakeNode): Idle => ({
  ...autostop,
  idleSince: null,
  stopsAt: null,
  keptAliveBy: [],
  ...idle,
});

const get = ({ lifecycles }: FakeNode, id: string): FakeLifecycle =>
  lifecycles.find((one) => one.id === id) ?? fail("NotFoundError", `there is no lifecycle ${id}`);

const toLifecycle = ({ list: _, texts: __, ...lifecycle }: FakeLifecycle): Lifecycle => ({
  ...lifecycle,
  ...(lifecycle.deadlineAt !== null && {
    leftMs: Math.max(0, lifecycle.deadlineAt - Date.now()),
  }),
  logs: logsOf({ ...lifecycle, list: _, texts: __ }),
});

const runningIn = ({ runs }: FakeLifecycle): HookRun | undefined =>
  runs.find(({ status }) => status === "RUNNING");

const logsOf = (one: FakeLifecycle): HookLog[] =>
  [...new Set(one.runs.map(({ event }) => event))].map((event) => ({
    event,
    sizeBytes: Buffer.byteLength(one.texts.get(event) ?? ""),
    isOver: isLogOver(one, event),
  }));

const isLogOver = (one: FakeLifecycle, event: HookEvent): boolean =>
  runningIn(one)?.event !== event && (one.status !== "HOOKS" || nextEntry(one)?.event !== event);

/** Begins a lifecycle, or changes the one that is under way. */
function begin(node: FakeNode, changes: Changes, order: LifecycleOrder): FakeLifecycle {
  const known = node.lifecycles.find(({ id }) => id === order.id);
  const one = openOf(node) ?? known ?? added(node, order);
  if (one.endedAt !== null) return one;
  sharpen(one, order);
  if (order.skipHooks) skipRest(one, order.because);
  tell(node, changes, one);
  lead(node, changes, one);
  return one;
}

function added(node: FakeNode, order: LifecycleOrder): FakeLifecycle {
  const { id, event, cause, because, deadlineAt } = order;
  const list = node.hooks?.hooks ?? [];
  const one: FakeLifecycle = {
    ...{ id, events: [event], cause, because, deadlineAt, list },
    revision: 0,
    status: "HOOKS",
    startedAt: Date.now(),
    endedAt: null,
    hooks: list.length,
    runs: [],
    logs: [],
    texts: new Map(),
  };
  node.lifecycles.push(one);
  return one;
}

function sharpen(one: FakeLifecycle, { event, because, deadlineAt }: LifecycleOrder): void {
  const { events } = one;
  one.deadlineAt = deadlineAt ?? one.deadlineAt;
  if (events.includes(event)) return;
  if (event === "stop" && events.includes("down"))
    fail("ConflictError", "teardown in progress", { lifecycle: one.id });
  const rest = events.filter((before) => before === "preemption");
  one.events = event === "preemption" ? [event, ...events] : [...rest, event];
  if (event !== "preemption") one.because = because;
  if (nextEntry(one) !== undefined) one.status = "HOOKS";
}

/** The first entry that an event names and that has not had its turn. */
function nextEntry({ events, list, runs }: FakeLifecycle) {
  for (const event of events)
    for (const [index, hook] of list.entries())
      if (hook.events.includes(event) && !runs.some((run) => run.index === index))
        return { event, index, timeoutSeconds: hook.timeoutSeconds };
  return undefined;
}

/** Goes as far as nothing has to be waited for. */
function lead(node: FakeNode, changes: Changes, one: FakeLifecycle): void {
  while (one.status === "HOOKS") {
    if (runningIn(one) !== undefined) return;
    const next = nextEntry(one);
    if (next === undefined) {
      one.status = "JOBS";
      break;
    }
    one.runs.push({ ...next, ...unended, status: "RUNNING", startedAt: Date.now() });
    if (!node.holdsHooks) endRun(one, { status: "SUCCEEDED", exitCode: 0, reason: null });
    tell(node, changes, one);
  }
  if (one.status !== "JOBS") return;
  // A replica serves until its cluster is to go.
  const isNotice = one.events.every((event) => event === "preemption");
  if (isNotice && node.jobs.some(({ submission: { env } }) => readEnv(env, "REPLICA_PORT"))) return;
  for (const job of node.jobs) endJob(node, changes, job, "CANCELLED");
  one.status = "READY";
  tell(node, changes, one);
}

const unended = { exitCode: null, reason: null, endedAt: null };

function endRun(one: FakeLifecycle, end: Pick<HookRun, "status" | "exitCode" | "reason">): void {
  const run = runningIn(one);
  if (run === undefined || !hookRunMachine.allows(run.status, end.status)) return;
  Object.assign(run, end, { endedAt: (run.startedAt ?? 0) + 1_200 });
}

function skipRest(one: FakeLifecycle, because: string): void {
  const reason = `hooks are skipped (${because})`;
  endRun(one, { status: "INTERRUPTED", exitCode: null, reason });
  for (let next = nextEntry(one); next !== undefined; next = nextEntry(one))
    one.runs.push({ ...next, ...unended, status: "SKIPPED", startedAt: null, reason });
}

function tell(node: FakeNode, changes: Changes, one: FakeLifecycle): void {
  one.revision += 1;
  addEvent(node, changes, { kind: "lifecycle", lifecycleId: one.id, status: one.status });
}

async function* hookText(
  changes: Changes,
  one: FakeLifecycle,
  event: HookEvent,
  offset: number,
  follow: boolean,
  signal: AbortSignal,
) {
  const textOf = () => one.texts.get(event) ?? "";
  for (let at = offset; ; ) {
    const look = async () =>
      more(textOf().slice(at)) ?? (follow && !isLogOver(one, event) ? undefined : "");
    const fresh = await changes.until("job", look, signal);
    if (fresh === "") return;
    at += fresh.length;
    yield fresh;
  }
}
