import { setTimeout as sleep } from "node:timers/promises";
import { fail } from "../../common/errors.ts";
import { limited } from "../../common/limited.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { AgentEvent, Health, Idle, LogGrowth } from "../../contract/agent-shapes.ts";
import type { Context } from "../context.ts";
import { hearLines } from "../doors/lines.ts";
import { listEvents } from "../events.ts";
import type { Ground } from "../ground.ts";
import { listHeldOn } from "../jobs/work-store.ts";
import { nudge } from "../reconciler.ts";
import { type HookLogPump, openHookLogPump } from "./hooks/log-pump.ts";
import { adoptTold } from "./lifecycles/adopt.ts";
import { findLifecycle } from "./lifecycles/store.ts";
import { remark } from "./provision-log.ts";
import { keepQueue } from "./queue-snapshot.ts";
import { openRelays } from "./relay.ts";
import { openRounds, type Rounds } from "./repeating-work.ts";
import { agentAutostop, type Cluster, clusterKey, type Watches } from "./schema.ts";
import { findCluster } from "./store.ts";
import { wake } from "./want.ts";

const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** An agent says every five seconds that it lives. */
const silentMs = 15_000;
const queuePauseMs = 500;
/** How often a head is told its autostop while that is being changed. */
const tellingsAtMost = 5;
/** Among how many of the newest remarks one is looked for, so that it is not made twice. */
const remarksLooked = 100;

/** Made once: capturing the stack of an error costs more than ending a watch. */
const forgotten = new DOMException("the cluster is watched no more", "AbortError");

interface Watched {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  idle?: Idle | undefined;
}

/** Opens no ear yet. */
export function openWatches(world: () => Context): Watches {
  const watched = new Map<string, Watched>();

  function forget(id: string): void {
    watched.get(id)?.abort.abort(forgotten);
    watched.delete(id);
  }

  return {
    keep(cluster, health) {
      if (cluster.status === "STOPPED") return forget(cluster.id);
      if (watched.has(cluster.id)) return;
      const abort = new AbortController();
      watched.set(cluster.id, {
        abort,
        done: watchCluster(world(), cluster, health, abort.signal),
      });
    },
    has: (id) => watched.has(id),
    idleOf: (id) => watched.get(id)?.idle,
    noteIdle(id, idle) {
      const one = watched.get(id);
      if (one !== undefined) one.idle = idle;
    },
    forget,
    async stop() {
      const all = [...watched.values()];
      for (const { abort } of all) abort.abort();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

/** What compares states whenever a node tells of something, and when it could not be heard. */
interface Ear {
  /** Without an event: something may have been missed, but no lifecycle of a node where nothing has ever happened. */
  heard(event?: AgentEvent | LogGrowth, isNew?: boolean): void;
  /** The node is away: it may be gone for good, which other nodes have to know. */
  lost(): void;
  done(): Promise<void>;
}

async function watchCluster(
  ctx: Context,
  cluster: Cluster,
  health: ReadonlyMap<number, Health> | undefined,
  signal: AbortSignal,
): Promise<void> {
  const relays = cluster.nodes > 1 ? openRelays(ctx, cluster, signal) : undefined;
  const ranks = [...Array(cluster.nodes).keys()];
  const ears = ranks.map((rank) => openEar(ctx, cluster, rank, relays, signal));
  await Promise.all(
    ears.map((ear, rank) =>
      watchNode(ctx, cluster, { rank, ear, health: health?.get(rank) }, signal),
    ),
  );
  await Promise.all([...ears.map((ear) => ear.done()), relays?.done()]);
}

function openEar(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  relays: Rounds | undefined,
  signal: AbortSignal,
): Ear {
  const { id: clusterId } = cluster;
  const failed = (err: unknown) => ctx.log.debug({ err, clusterId, rank }, "node not compared");
  const idle = openRounds(() => lookAtIdle(ctx, cluster, signal), failed, signal);
  const pump = openHookLogPump(ctx, cluster, rank, signal);
  const lifecycles = openRounds(() => compare(ctx, cluster, rank, pump, signal), failed, signal);
  const queue = openRounds(() => keepQueueSoon(ctx, cluster, signal), failed, signal);
  const owner = openRounds(() => tellOwner(ctx, cluster), failed, signal);
  let isAway = false;
  let lastTold = "";

  /** What is told a second time has changed otherwise, as where a notice has joined it. */
  async function hearLifecycle(event: AgentEvent): Promise<void> {
    const told = `${event.lifecycleId} ${event.status}`;
    const isAgain = told === lastTold;
    lastTold = told;
    const isKnown = !isAgain && (await isTold(ctx, cluster, rank, event).catch(() => false));
    if (!isKnown) lifecycles.sync();
  }

  return {
    heard(event, isNew = false) {
      // The reconciler failed while it was away, and may wait for a minute by now.
      if (isAway) void nudge(ctx, "cluster", clusterId);
      isAway = false;
      if (event?.kind === "log")
        return rank === 0 ? ctx.jobLogs.grew(cluster, event.jobId) : undefined;
      if (event === undefined && !isNew) lifecycles.sync();
      if (event?.kind === "lifecycle") void hearLifecycle(event);
      // What another row has made for it has no autostop.
      if (rank === 0 && cluster.madeFor === null) idle.sync();
      const isOfJob = event === undefined || event.kind === "job";
      // A managed job tells of the only job of its cluster itself.
      if (rank === 0 && isOfJob && cluster.madeFor?.noun !== "managed_job") queue.sync();
      if (event?.kind === "mount") void tellMount(ctx, cluster, rank, event).catch(failed);
      if (event?.kind !== "idle") relays?.sync();
      ctx.changes.notify(clusterKey(clusterId));
      // What else a node tells is written down first.
      if (isOfJob) owner.sync();
    },
    lost() {
      isAway = true;
      owner.sync();
      relays?.sync();
    },
    async done() {
      await Promise.all([lifecycles, idle, queue, owner].map((work) => work.done()));
      await pump.done();
    },
  };
}

/** What comes close together is kept once. */
async function keepQueueSoon(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  await keepQueue(ctx, cluster, signal);
  await sleep(queuePauseMs, undefined, { signal }).catch(() => {});
}

/** Has the owner of a managed cluster look at it, and the jobs that have it as a worker. */
export async function tellOwner(
  ctx: Context,
  { id, madeFor }: Pick<Cluster, "id" | "madeFor">,
): Promise<void> {
  if (madeFor === null) return;
  void nudge(ctx, madeFor.noun, madeFor.id);
  if (madeFor.noun !== "replica") return;
  for (const job of await listHeldOn(ctx.db, id)) void nudge(ctx, "managed_job", job.id);
}

/** Whether control knows by the answer to its own call what an event tells of a lifecycle without hooks. */
async function isTold(
  { db }: Ground,
  { id: clusterId }: Cluster,
  rank: number,
  { lifecycleId = "", status }: AgentEvent,
): Promise<boolean> {
  const known = await findLifecycle(db, { clusterId, rank, id: lifecycleId });
  return known?.hooks === 0 && known.status === status;
}

/** Whatever is new of a node's lifecycles is the reconciler's to go on with, and the logs of their hooks are copied. */
async function compare(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  pump: HookLogPump,
  signal: AbortSignal,
): Promise<void> {
  const told = await ctx.agent(cluster, rank).call(agentOperations.listLifecycles, {}, { signal });
  // First: a log that cannot be copied holds up no notice.
  if (await adoptTold(ctx, cluster, rank, told)) {
    wake(ctx, cluster.id);
    await tellOwner(ctx, cluster);
  }
  await pump.copy(told);
}

/** Notes what the idle timer sees. A head that did not hear what was set is told again. */
async function lookAtIdle(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const { call } = ctx.agent(cluster, 0);
  let idle = await call(agentOperations.getIdle, {}, { signal });
  for (let turn = 1; turn <= tellingsAtMost; turn += 1) {
    // The row is read after the head, and again after each telling: what is set is written before it is told.
    const now = await findCluster(ctx.db, cluster.id);
    if (now === undefined) return;
    const set = agentAutostop(now);
    const isTold = idle.idleMs === set.idleMs && idle.down === set.down;
    if (isTold || now.status !== "UP")
      return ctx.watches.noteIdle(now.id, now.autostop === null ? undefined : idle);
    idle = await call(agentOperations.setAutostop, set, { signal });
  }
}

/** A node that is listened to. */
interface Heard {
  readonly rank: number;
  readonly ear: Ear;
  /** What it answered just before. */
  readonly health: Health | undefined;
}

/** Listens again whenever the response breaks off, and has the cluster looked at. */
async function watchNode(
  ctx: Context,
  cluster: Cluster,
  { rank, ear, health: first }: Heard,
  signal: AbortSignal,
): Promise<void> {
  let health = first;
  for (let pauseMs = firstPauseMs; !signal.aborted; ) {
    const since = performance.now();
    await listen(ctx, cluster, { rank, ear, health }, signal).catch((error: unknown) => {
      if (signal.aborted) return;
      ctx.log.debug({ err: error, clusterId: cluster.id, rank }, "agent not heard");
      ear.lost();
    });
    if (signal.aborted) return;
    health = undefined;
    // One that answers and soon breaks off again and again is asked ever less often.
    if (performance.now() - since > longestPauseMs) pauseMs = firstPauseMs;
    void nudge(ctx, "cluster", cluster.id);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** What was missed is read from the state itself; then events. Rejects when these break off: they have no end. */
async function listen(
  ctx: Context,
  cluster: Cluster,
  { rank, ear, health }: Heard,
  signal: AbortSignal,
): Promise<never> {
  const agent = ctx.agent(cluster, rank);
  const { lastSeq, rebuilt } = health ?? (await agent.call(agentOperations.health, {}, { signal }));
  if (rebuilt) await tellRebuilt(ctx, cluster, rank, rebuilt);
  const { body } = await limited(silentMs, signal, (until) =>
    agent.open(agentOperations.events, { after: lastSeq }, until),
  );
  ear.heard(undefined, health !== undefined && lastSeq === 0);
  await hearLines(body, { silentMs, signal }, (line) => {
    if (line !== "") ear.heard(JSON.parse(line));
  });
  return fail("UnreachableError", "its events broke off");
}

/** Adds an event that says what became of a node's mounts; what is lost is worth a notice. */
async function tellMount(ctx: Ground, { id }: Cluster, rank: number, event: AgentEvent) {
  const isNoteworthy = ["LOST", "UNWRITTEN"].includes(event.status);
  await remark(ctx, id, `node ${rank}: ${event.text}`, isNoteworthy);
}

/** Adds an event, once, that says that a node's agent has lost its journal and what became of it. */
async function tellRebuilt(
  ctx: Ground,
  { id }: Cluster,
  rank: number,
  { at, aside }: NonNullable<Health["rebuilt"]>,
): Promise<void> {
  const reason =
    `the journal of the agent of node ${rank} was corrupt, and was rebuilt from the folders of its ` +
    `jobs at ${new Date(at).toISOString()}; the corrupt one is ${aside} on the node`;
  const known = await listEvents(ctx.db, "cluster", id, {
    kinds: ["remarks"],
    limit: remarksLooked,
  });
  if (known.some((event) => event.reason === reason)) return;
  await remark(ctx, id, reason, true);
}
