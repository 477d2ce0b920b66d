import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { jobLogGap, usualLogBytes } from "../../contract/job-log.ts";
import { type Agent, keys } from "../context.ts";
import { logOf, rankLogOf } from "../folders.ts";
import { resumeRewrite } from "../hooks/log-rewrite.ts";
import { leaveOut } from "../hooks/log-size.ts";
import { findGap, writeGap } from "../log-gap.ts";
import { getNode } from "../node.ts";
import { findPart, findSpec, listParts } from "./part-store.ts";

const lookEveryMs = 1_000;

/**
 * Keeps the logs that this node has of a job within their size. Disposing of it does so once more; on a
 * worker that waits until the head has the whole log.
 */
export function keepLogsSmall(agent: Agent, id: number): AsyncDisposable {
  const atMostBytes = findSpec(agent.journal, id)?.limits.logBytes ?? usualLogBytes;
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, agent.stopping]);
  const keeping = keep(agent, id, atMostBytes, signal).catch((error: unknown) => {
    if (!signal.aborted) agent.log.warn({ jobId: id, error }, "the logs of a job grow on");
  });
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await keeping;
      if (agent.stopping.aborted) return;
      await untilCopied(agent, id);
      await trimLogs(agent, id, atMostBytes);
    },
  };
}

async function keep(
  agent: Agent,
  id: number,
  atMostBytes: number,
  signal: AbortSignal,
): Promise<never> {
  resumeRewrite(logOf(agent, id));
  for (;;) {
    await sleep(lookEveryMs, undefined, { signal });
    await trimLogs(agent, id, atMostBytes);
  }
}

/** Resolves once nobody needs to read the log of this node any more to merge it. */
function untilCopied(agent: Agent, id: number): Promise<true> {
  const look = async () => neededFrom(agent, id) >= sizeOf(logOf(agent, id)) || undefined;
  return agent.changes.until(keys.job(id), look, agent.stopping);
}

/** Where what the head still needs of this node's log begins; the head itself needs nothing of it. */
function neededFrom({ journal }: Agent, id: number): number {
  const { rank } = getNode(journal);
  return rank === 0 ? Number.POSITIVE_INFINITY : (findPart(journal, id, rank)?.merged ?? 0);
}

/** What is merged of the log of a rank is in the job's. */
async function trimLogs(agent: Agent, id: number, atMostBytes: number): Promise<void> {
  await trimLog(agent, logOf(agent, id), atMostBytes, neededFrom(agent, id));
  const parts = listParts(agent.journal, id);
  if (parts.length < 2) return;
  for (const { rank, merged } of parts)
    await trimLog(agent, rankLogOf(agent, id, rank), atMostBytes, merged);
}

/** The middle takes no room on disk any more, and every other byte stays at its offset. */
async function trimLog(
  agent: Agent,
  path: string,
  atMostBytes: number,
  neededFrom: number,
): Promise<void> {
  const gap = jobLogGap(sizeOf(path), atMostBytes);
  const before = findGap(path)?.to ?? 0;
  if (gap === undefined || gap.to > neededFrom || gap.to <= before) return;
  // Written first: a reader must not take a hole for what was printed.
  writeGap(path, gap);
  await leaveOut(agent, path, gap, before === 0);
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
