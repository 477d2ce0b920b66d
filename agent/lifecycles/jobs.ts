import { endTree } from "../../common/end-processes.ts";
import { readEnv } from "../../common/product.ts";
import { type Agent, keys } from "../context.ts";
import { cancelJob } from "../jobs/jobs.ts";
import { wantPart } from "../jobs/move.ts";
import { findPart, findSpec, listLiveParts } from "../jobs/part-store.ts";
import { treeOf } from "../jobs/parts.ts";
import { listStartedIds } from "../jobs/store.ts";
import { findNode } from "../node.ts";
import { untilDue } from "../timer.ts";
import { describeDone, isOnlyNotice } from "./lifecycle.ts";
import { getRow } from "./lifecycles.ts";
import { findLifecycle } from "./store.ts";
import { graceOf, jobsEndMs } from "./time.ts";

const headRank = 0;
/** Ranks on other nodes are ended by way of control, which may be away. */
const patienceMs = 20_000;
/** A journal that cannot be written may never tell that a job has ended. */
const fullDiskPatienceMs = 1_000;

/**
 * Ends what runs on the node: on the head its jobs on all their nodes, elsewhere the node's own
 * ranks. Resolves once nothing runs, or when waiting longer helps nobody. May be repeated.
 */
export async function endJobs(agent: Agent, id: string): Promise<void> {
  const { journal, stopping } = agent;
  const row = getRow(agent, id);
  const rank = findNode(journal)?.rank ?? headRank;
  const graceMs = Math.floor(graceOf(row, agent.monotonic()));
  const leftMs = (row.deadline?.monotonicMs ?? Number.POSITIVE_INFINITY) - agent.monotonic();
  const atMostMs = agent.unsaved.size > 0 ? fullDiskPatienceMs : patienceMs;
  const patience = AbortSignal.timeout(Math.max(0, Math.min(atMostMs, leftMs)));
  const how = {
    graceMs,
    reason: describeDone(row),
    signal: AbortSignal.any([patience, stopping]),
  };
  const ids = listWork(agent, rank);
  const end = rank === headRank ? cancelJob : endPart(rank);
  await Promise.all(
    ids.map(async (jobId) => {
      try {
        await end(agent, jobId, how);
      } catch (error) {
        stopping.throwIfAborted();
        agent.log.warn({ jobId, error }, "ending a job failed; ending its processes");
        await endTree(treeOf(agent, jobId), graceMs, stopping);
      }
    }),
  );
}

const listWork = ({ journal }: Agent, rank: number): number[] =>
  rank === headRank
    ? listStartedIds(journal)
    : listLiveParts(journal, rank).map(({ jobId }) => jobId);

/**
 * A replica that is taken away serves until control, which has sent requests elsewhere by then, wants its cluster
 * gone, or until jobs are to end anyway.
 */
export async function untilReleased(agent: Agent, id: string): Promise<void> {
  const { journal, stopping } = agent;
  const serves = (jobId: number) =>
    readEnv(findSpec(journal, jobId)?.env ?? {}, "REPLICA_PORT") !== undefined;
  const atMs = () => {
    const row = getRow(agent, id);
    const isBound = row.status !== "JOBS" || !isOnlyNotice(row.events);
    if (isBound || !listWork(agent, findNode(journal)?.rank ?? headRank).some(serves))
      return Number.NEGATIVE_INFINITY;
    return jobsEndMs(row) ?? Number.NEGATIVE_INFINITY;
  };
  await untilDue(agent, keys.lifecycle, atMs, stopping);
}

/** Ends jobs while hooks still run, once a preemption leaves no more time than jobs need themselves. */
export async function endJobsAtLast(agent: Agent, id: string, signal: AbortSignal): Promise<void> {
  const atMs = () => {
    const row = findLifecycle(agent, id);
    return row?.endedAt === null ? jobsEndMs(row) : undefined;
  };
  await untilDue(agent, keys.lifecycle, atMs, signal);
  await endJobs(agent, id);
}

const endPart =
  (rank: number) =>
  async (
    agent: Agent,
    jobId: number,
    { graceMs, signal }: { graceMs: number; signal: AbortSignal },
  ): Promise<void> => {
    wantPart(agent, jobId, rank, { wanted: "end", graceMs });
    const look = async () =>
      (findPart(agent.journal, jobId, rank)?.status ?? "ENDED") === "ENDED" || undefined;
    await agent.changes.until(keys.job(jobId), look, signal);
  };
