import { randomUUID } from "node:crypto";
import { endTree } from "../common/end-processes.ts";
import { fail } from "../common/errors.ts";
import { readBootId } from "../common/process-tree.ts";
import type { LeaseRenewal } from "../contract/agent-shapes.ts";
import { describeLease, endingMsOf } from "../contract/lease.ts";
import { type Agent, keys } from "./context.ts";
import { moveJob } from "./jobs/move.ts";
import { listLiveParts } from "./jobs/part-store.ts";
import { treeOf } from "./jobs/parts.ts";
import { listPendingIds } from "./jobs/store.ts";
import { type Lease, writeLease } from "./lease-file.ts";
import { beginLifecycle } from "./lifecycles/lifecycles.ts";
import { findNode, getNode } from "./node.ts";

/** How often the clock is looked at: no timer counts the time that a machine sleeps. */
const lookEveryMs = 1_000;

/**
 * Gives the node a lease or renews it; answers the instant from which the next renewal counts, null once the
 * lease is over. Throws `ConflictError` for a cluster that the node does not work for.
 */
export function renewLease(agent: Agent, renewal: LeaseRenewal): { at: number | null } {
  const { clusterId, leaseMs, heard } = renewal;
  const node = getNode(agent.journal);
  if (node.clusterId !== clusterId)
    fail("ConflictError", `the node works for cluster ${node.clusterName}, not for ${clusterId}`);
  // What has run out while nobody looked is not renewed.
  checkLease(agent);
  const now = agent.uptime();
  const { lease } = agent;
  if (lease?.isOver) return { at: null };
  if (lease === undefined)
    put(agent, { leaseMs, fromMs: now, bootId: readBootId(), isOver: false });
  else if (heard !== null && heard > lease.fromMs)
    keep(agent, { ...lease, leaseMs, fromMs: Math.min(heard, now) });
  agent.changes.notify(keys.lease);
  return { at: now };
}

/** Ends what runs on the node when its lease runs out, for as long as the agent lives. */
export function watchLease(agent: Agent): Promise<never> {
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<undefined> => {
    clearTimeout(timer);
    const againMs = tryCheck(agent);
    if (againMs === undefined) return;
    timer = setTimeout(() => agent.changes.notify(keys.lease), againMs).unref();
  };
  return agent.changes.until<never>(keys.lease, look, agent.stopping);
}

/** A full disk must not end the agent while it ends an attempt. */
function tryCheck(agent: Agent): number | undefined {
  try {
    return checkLease(agent);
  } catch (error) {
    agent.log.warn({ error }, "the lease failed; trying again");
    return lookEveryMs;
  }
}

/** Does what the time of the lease asks for; answers when to look again, undefined for never. */
export function checkLease(agent: Agent): number | undefined {
  const { lease, journal } = agent;
  if (lease === undefined) return undefined;
  const leftMs = leftMsOf(lease, agent.uptime());
  const lateMs = endingMsOf(lease.leaseMs);
  if (!lease.isOver && leftMs > lateMs) return Math.min(lookEveryMs, leftMs - lateMs);
  const live = listLiveParts(journal, findNode(journal)?.rank ?? 0);
  if (live.length > 0 && !lease.isOver) preempt(agent, lease, leftMs);
  if (!lease.isOver) keep(agent, { ...lease, isOver: true });
  const isLate = live.length > 0 && leftMs <= 0;
  // Before anything is written that a full disk may refuse.
  if (isLate)
    for (const { jobId } of live)
      endTree(treeOf(agent, jobId), 0).catch((error) =>
        agent.log.error({ jobId, error }, "not ended"),
      );
  if (isLate) preempt(agent, lease, 0);
  for (const id of listPendingIds(journal))
    moveJob(agent, id, "CANCELLED", { reason: reasonOf(lease) });
  if (live.length === 0) return undefined;
  return isLate ? lookEveryMs : Math.min(lookEveryMs, leftMs);
}

/** The processes of another boot are gone, and nobody knows how long ago that was. */
const leftMsOf = ({ bootId, fromMs, leaseMs }: Lease, nowMs: number): number =>
  bootId === readBootId() ? fromMs + leaseMs - nowMs : 0;

const reasonOf = ({ leaseMs }: Lease): string =>
  `control has not been in touch: the lease of ${describeLease(leaseMs)} runs out`;

/** The hooks have the time that is left, and so do jobs; without any no hook runs. */
function preempt(agent: Agent, lease: Lease, leftMs: number): void {
  beginLifecycle(agent, {
    id: randomUUID(),
    event: "preemption",
    cause: "provider",
    because: reasonOf(lease),
    deadlineAt: agent.now() + Math.max(0, leftMs),
    skipHooks: leftMs <= 0,
  });
}

/** A lease that is not on disk is none. */
function put(agent: Agent, lease: Lease): void {
  writeLease(agent.config, lease);
  agent.lease = lease;
  agent.log.info({ ...lease }, "lease begun");
}

/** On a full disk it is as good in memory: what is on disk ends earlier. */
function keep(agent: Agent, lease: Lease): void {
  agent.lease = lease;
  if (lease.isOver) agent.log.warn({ ...lease }, "the lease runs out");
  try {
    writeLease(agent.config, lease);
  } catch (error) {
    agent.log.warn({ error }, "the lease cannot be written; continuing");
  }
}
