import { setTimeout as sleep } from "node:timers/promises";
import { fileSizeOf } from "../../common/files.ts";
import { recordGrowth } from "../../common/log-growth.ts";
import { jobLogGap, usualLogBytes } from "../../contract/job-log.ts";
import { type Agent, keys } from "../context.ts";
import { logOf, rankLogOf } from "../folders.ts";
import { resumeRewrite } from "../hooks/log-rewrite.ts";
import { leaveOut } from "../hooks/log-size.ts";
import { findGap, writeGap } from "../log-gap.ts";
import { findSpec, listParts } from "./part-store.ts";

const lookEveryMs = 1_000;

/**
 * Keeps the logs that this node has of a job within their size. Disposing of it does so once more. On a
 * worker this does not wait for the head: one that was away for longer than the log is large learns what
 * was left out. `grew` is called when the job's log on this node has grown, at most once a second.
 */
export function keepLogsSmall(
  agent: Agent,
  id: number,
  grew: () => void = () => {},
): AsyncDisposable {
  const atMostBytes = findSpec(agent.journal, id)?.limits.logBytes ?? usualLogBytes;
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, agent.stopping]);
  const keeping = keep(agent, id, atMostBytes, grew, signal).catch((error: unknown) => {
    if (!signal.aborted)
      agent.log.warn({ jobId: id, error }, "the size of a job's logs is not limited");
  });
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await keeping;
      if (agent.stopping.aborted) return;
      await trimLogs(agent, id, atMostBytes);
    },
  };
}

async function keep(
  agent: Agent,
  id: number,
  atMostBytes: number,
  grew: () => void,
  signal: AbortSignal,
): Promise<never> {
  const path = logOf(agent, id);
  resumeRewrite(path);
  for (let size = 0; ; ) {
    size = await untilLarger(agent, path, size, signal);
    grew();
    await sleep(lookEveryMs, undefined, { signal });
    await trimLogs(agent, id, atMostBytes);
  }
}

/** Watches the file that has the log now: it may be another one once the log was rewritten. */
async function untilLarger(
  { watches, changes }: Agent,
  path: string,
  than: number,
  signal: AbortSignal,
): Promise<number> {
  const unwatch = watches.add(path);
  const look = async () => (fileSizeOf(path) > than ? fileSizeOf(path) : undefined);
  return changes.until(keys.log(path), look, signal).finally(unwatch);
}

/** Of the log of a rank only what is merged goes: that is in the job's. */
async function trimLogs(agent: Agent, id: number, atMostBytes: number): Promise<void> {
  recordGrowth(logOf(agent, id));
  await trimLog(agent, logOf(agent, id), atMostBytes, Number.POSITIVE_INFINITY);
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
  const gap = jobLogGap(fileSizeOf(path), atMostBytes);
  const before = findGap(path)?.to ?? 0;
  if (gap === undefined || gap.to > neededFrom || gap.to <= before) return;
  // Written first: a reader must not take a hole for what was printed.
  writeGap(path, gap);
  await leaveOut(agent, path, gap, before === 0);
}
