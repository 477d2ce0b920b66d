import { AppError, fail } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Idle } from "../../contract/agent-shapes.ts";
import { clusterMachine } from "../../contract/statuses.ts";
import { refusalOf } from "../clouds/schema.ts";
import type { Context } from "../context.ts";
import { listEvents } from "../events.ts";
import { move } from "../move.ts";
import { settleAll } from "../settle-all.ts";
import { hold } from "../want.ts";
import { type Answers, noteHealth, noteLifecycle } from "./answers.ts";
import { backAgain, type CreateOptions, create, newVersion } from "./create.ts";
import { failOver, noteRefusal } from "./fail-over.ts";
import { bringFiles } from "./files/bring.ts";
import { hasHooks, tellHooks } from "./hooks/told.ts";
import { adopt, adoptLifecycles, endAll, endOfNodes } from "./lifecycles/adopt.ts";
import { leave, leaveWithout } from "./lifecycles/leave.ts";
import { begin, fetchLogs, rouse, skipHooks, tellHead } from "./lifecycles/prepare.ts";
import type { StoredLifecycle } from "./lifecycles/schema.ts";
import { listOpen } from "./lifecycles/store.ts";
import { noteGone } from "./lifecycles/wanted.ts";
import {
  type Action,
  isOn,
  later,
  lost,
  type Observed,
  refused,
  type Step,
  waiting,
} from "./planning.ts";
import { narrate, remark } from "./provision-log.ts";
import { agentAutostop, type Cluster, settingsOf } from "./schema.ts";
import { getCluster, upWith } from "./store.ts";
import { beginUsage, endUsage } from "./usage-store.ts";
import { wantCluster } from "./want.ts";

/** One pass over a cluster, as far as its actions need to know. */
export interface Pass {
  readonly ctx: Context;
  readonly cluster: Cluster;
  /** The lifecycles that are under way. */
  readonly open: readonly StoredLifecycle[];
  readonly nodes: readonly Observed[];
  readonly answers: Answers;
  /** Whether there is another look at an agent that goes away meanwhile. */
  readonly looksAgain: boolean;
  readonly signal: AbortSignal;
}

type Handler<Name extends Action["do"]> = (
  pass: Pass,
  action: Extract<Action, { do: Name }>,
) => Promise<unknown>;

/** How each thing of a plan is done; every one may be repeated. */
const handlers: { readonly [Name in Action["do"]]: Handler<Name> } = {
  move: moveCluster,
  want: wantAs,
  create: (pass, { rank }) => unlessRefused(pass, () => createNode(pass, rank, { news: "runs" })),
  await: awaitMachines,
  failOver: ({ ctx, cluster, signal }) => failOver(ctx, cluster, signal),
  revive: (pass, { rank }) => createNode(pass, rank, backAgain),
  replace: (pass, { rank }) => createNode(pass, rank, newVersion),
  bringFiles: ({ ctx, cluster, signal }, { ranks }) => bringFiles(ctx, cluster, ranks, signal),
  configure,
  tellHooks: ({ ctx, cluster, signal }, { rank }) => tellHooks(ctx, cluster, [rank], signal),
  adopt: ({ ctx, cluster, signal }, { rank }) => adoptLifecycles(ctx, cluster, rank, signal),
  endLifecycles: ({ ctx, cluster }, { ranks }) => endOfNodes(ctx, cluster.id, ranks),
  takeBack,
  skipHooks: ({ ctx, cluster, signal }, { rank, id }) => skipHooks(ctx, cluster, rank, id, signal),
  rouseHead: ({ ctx, cluster, signal }, { replaces }) => rouse(ctx, cluster, replaces, signal),
  tellHead: ({ ctx, cluster, signal }) => tellHead(ctx, cluster, signal),
  begin: ({ ctx, cluster, answers, signal }) =>
    begin(ctx, cluster, (told) => noteLifecycle(answers, 0, told), signal),
  fetchLogs: ({ ctx, cluster, open, looksAgain, signal }) =>
    fetchLogs(ctx, cluster, open, looksAgain, signal),
  leave: ({ ctx, cluster }) => leave(ctx, cluster),
  leaveWithout: ({ ctx, cluster }, { why }) => leaveWithout(ctx, cluster, why),
  stop,
  destroy: ({ ctx, cluster, signal }, { nodeId }) => {
    ctx.watches.forget(cluster.id);
    return ctx.provider(cluster.provider).destroy(nodeId, signal);
  },
};

/** What is asked only of agents that have just answered; other actions wait for theirs. */
const asks: ReadonlySet<Action["do"]> = new Set([
  "move",
  "bringFiles",
  "configure",
  "tellHooks",
  "adopt",
  "takeBack",
]);

/** What only writes to the database; everything else may take long. */
const quick: ReadonlySet<Action["do"]> = new Set([
  "want",
  "endLifecycles",
  "leave",
  "leaveWithout",
]);

export const isQuick = (name: Action["do"]): boolean => quick.has(name);

/** What may take minutes: machines are made and booted, programs and files are brought there. */
const making: ReadonlySet<Action["do"]> = new Set([
  "create",
  "revive",
  "replace",
  "bringFiles",
  "rouseHead",
]);

export const makesNodes = (name: Action["do"]): boolean => making.has(name);

/** After these, the nodes may not be as the provider last said. */
const changing: ReadonlySet<Action["do"]> = new Set([
  "create",
  "revive",
  "replace",
  "failOver",
  "rouseHead",
  "stop",
  "destroy",
]);

/**
 * Does the things of a step side by side, and answers what each came to once all of them are over: `refused`
 * where an offer was, which ends the others. Throws what the first in the list that failed threw.
 */
export async function actStep(pass: Pass, step: Step): Promise<unknown[]> {
  const ending = new AbortController();
  const isAlone = step.length === 1;
  const signal = isAlone ? pass.signal : AbortSignal.any([pass.signal, ending.signal]);
  if (step.some((action) => changing.has(action.do))) pass.answers.nodes = undefined;
  if (step.some((action) => action.do === "create")) {
    const outcome = await unlessRefused(pass, async () =>
      pass.ctx.provider(pass.cluster.provider).prepare?.(pass.cluster, pass.signal),
    );
    if (outcome === refused) return [refused];
  }
  const doing = step.map(async (action) => {
    const result = await act({ ...pass, signal }, action);
    if (result === refused) ending.abort();
    return result;
  });
  await Promise.allSettled(doing);
  return ending.signal.aborted && !pass.signal.aborted ? [refused] : settleAll(doing);
}

/** Does one thing of a plan; answers `later` or `waiting` where the rest waits for the next pass, or `lost`. */
export async function act(pass: Pass, action: Action): Promise<unknown> {
  const handle = handlers[action.do] as (pass: Pass, action: Action) => Promise<unknown>;
  try {
    return await handle(pass, action);
  } catch (error) {
    const isAway = error instanceof AppError && error.type === "UnreachableError";
    if (isAway && pass.looksAgain && asks.has(action.do) && !pass.signal.aborted) return lost;
    throw error;
  }
}

async function createNode(
  { ctx, cluster, answers, signal }: Pass,
  rank: number,
  options: CreateOptions,
): Promise<void> {
  const health = await create(ctx, cluster, rank, options, signal);
  if (health !== undefined) noteHealth(answers, rank, health);
}

/** Tells people once why nodes are pending. The next look goes on; nodes that run are watched until then. */
async function awaitMachines(
  { ctx, cluster: { id }, nodes }: Pass,
  { why }: Extract<Action, { do: "await" }>,
): Promise<typeof later | typeof waiting> {
  const [last] = await listEvents(ctx.db, "cluster", id, { kinds: ["remarks"], limit: 1 });
  if (last?.reason !== why) await remark(ctx, id, why);
  return nodes.some(isOn) ? later : waiting;
}

/** What work comes to; `refused` where the provider refuses the offer of a cluster that was never up. */
async function unlessRefused<T>(
  { ctx, cluster, signal }: Pass,
  work: () => Promise<T>,
): Promise<T | typeof refused> {
  try {
    return await work();
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined || signal.aborted) throw error;
    if (!(await noteRefusal(ctx, cluster, refusal))) throw error;
    return refused;
  }
}

async function moveCluster(
  { ctx, cluster, nodes, signal }: Pass,
  { to, reason }: Extract<Action, { do: "move" }>,
): Promise<typeof later | typeof waiting | undefined> {
  const isTold = to === "UP" && hasIdleTimer(cluster);
  const now = isTold ? await getCluster(ctx.db, cluster.id) : cluster;
  const idle = isTold ? await tellAutostop(ctx, now, signal) : undefined;
  const at = ctx.now().getTime();
  const isOff = to === "STOPPED" || to === "GONE";
  const moved = await move(ctx, clusterMachine, cluster, to, reason, {
    ...(to === "UP" && { change: upWith(nodes.map(({ address }) => address)) }),
    also: async (tx) => {
      if (to === "UP") await beginUsage(tx, cluster.id, at);
      if (isOff) await endUsage(tx, cluster.id, at);
      if (isOff) await endAll(ctx, tx, { ...cluster, status: to }, await listOpen(tx, cluster.id));
    },
  });
  if (!moved) return undefined;
  if (isOff) ctx.agents.forget(cluster.id);
  if (idle !== undefined) noteIdle(ctx, now, idle);
  narrate(ctx, cluster.id, `cluster ${cluster.name} is ${to}: ${reason}`);
  if (to === "GONE") return waiting;
  // Its watch compares what happens from here on.
  return to === "UP" && cluster.problem === null ? later : undefined;
}

/** What happened to a cluster is what its owner set for that case. */
async function wantAs(
  { ctx, cluster }: Pass,
  { wanted, because }: Extract<Action, { do: "want" }>,
): Promise<void> {
  const isWritten = await ctx.batch(async (tx) => {
    if (!(await hold(tx, "cluster", cluster))) return false;
    await noteGone(ctx, { ...cluster, wanted, wantedBecause: because }, tx);
    return wantCluster(tx, cluster.id, { wanted, because });
  });
  if (!isWritten) return;
  const isLost = wanted === "GONE" && (await hasHooks(ctx, cluster, "down"));
  const loss = isLost ? "; the output of its hooks is lost" : "";
  await remark(ctx, cluster.id, `cluster ${cluster.name} ${because}${loss}`);
}

async function configure(
  { ctx, cluster, nodes, answers, signal }: Pass,
  { rank }: Extract<Action, { do: "configure" }>,
): Promise<void> {
  const agent = ctx.agent(cluster, rank);
  const settings = settingsOf(cluster, rank, nodes);
  noteHealth(answers, rank, await agent.call(agentOperations.configure, settings, { signal }));
  if (rank === 0 && hasIdleTimer(cluster)) await tellAutostop(ctx, cluster, signal);
}

/** What another row has made for it is never stopped for being idle. */
const hasIdleTimer = ({ madeFor }: Cluster): boolean => madeFor === null;

/** An agent keeps what it was told across a stop, also that its idle timer has run out. */
function tellAutostop(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<Idle> {
  const head = ctx.agent(cluster, 0);
  return head.call(agentOperations.setAutostop, agentAutostop(cluster), { signal });
}

/** What the idle timer sees is shown from the first moment on. */
function noteIdle(ctx: Context, cluster: Cluster, idle: Idle): void {
  const { id, autostop } = cluster;
  ctx.watches.keep(cluster);
  // What the node told meanwhile is newer.
  if (autostop !== null && ctx.watches.idleOf(id) === undefined) ctx.watches.noteIdle(id, idle);
}

/** What the head has announced does not come: it accepts jobs again, unless it is being taken away. */
async function takeBack(
  { ctx, cluster, signal }: Pass,
  { id }: Extract<Action, { do: "takeBack" }>,
): Promise<void> {
  const head = ctx.agent(cluster, 0);
  const told = await head.call(agentOperations.cancelLifecycle, { id }, { signal });
  const isOurs = (await listOpen(ctx.db, cluster.id)).some((one) => one.id === id);
  // A notice that it had met stays open.
  const isOver = isOurs && told.endedAt !== null;
  const status = isOver ? "CANCELLED" : told.status;
  await adopt(ctx, cluster, { ...told, rank: 0, status });
}

async function stop(
  { ctx, cluster, signal }: Pass,
  { nodeId }: Extract<Action, { do: "stop" }>,
): Promise<void> {
  ctx.watches.forget(cluster.id);
  const provider = ctx.provider(cluster.provider);
  if (provider.stop === undefined)
    fail("NotSupportedError", `${provider.name} cannot stop nodes; take the cluster down`);
  await provider.stop(nodeId, signal);
}
