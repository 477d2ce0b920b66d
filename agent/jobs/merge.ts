import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { setTimeout as sleep, setImmediate as yieldToOthers } from "node:timers/promises";
import { readBytes } from "../../common/growing-file.ts";
import { prefixLines } from "../../common/prefix-lines.ts";
import { gapLine } from "../../contract/hooks.ts";
import { type Agent, keys } from "../context.ts";
import { folderOf, logOf, rankLogOf } from "../folders.ts";
import { transaction } from "../journal.ts";
import { findGap, isIn } from "../log-gap.ts";
import { watchPath } from "../watch.ts";
import { listParts, setPart } from "./part-store.ts";
import { findJob, type MergePiece, setMerge } from "./store.ts";

const pieceBytes = 256 * 1024;
/** Lines that come within it are written together: each piece costs a write to the journal. */
const gatherMs = 20;
const retryMs = 500;
const newline = 10;

/** The merged log of a job on its way; disposing of it leaves the rest to whoever merges next. */
export interface Merging extends Disposable {
  /** Resolves once every byte that the ranks left is in the merged log. */
  finish(): Promise<void>;
}

/**
 * Writes the lines of all ranks of a job into its log, each behind the name of its node. A piece is
 * journalled before it is written, and after a crash written again at the same place, so readers
 * by offset see neither a gap nor a line twice.
 */
export function mergeLogs(agent: Agent, id: number): Merging {
  let isLast = false;
  const over = new AbortController();
  const unwatch = watchPath(folderOf(agent, id), (name) => {
    if (name?.startsWith("rank-") ?? true) agent.changes.notify(keys.merge(id));
  });
  const signal = AbortSignal.any([over.signal, agent.stopping]);
  const merging = mergeAgain(agent, id, () => isLast, signal);
  // Whoever ends it early does not wait for it.
  merging.catch(() => {});
  return {
    finish() {
      isLast = true;
      agent.changes.notify(keys.merge(id));
      return merging;
    },
    [Symbol.dispose]() {
      unwatch();
      over.abort();
    },
  };
}

/** Goes on where it failed: a disk may be full for a while. */
async function mergeAgain(
  agent: Agent,
  id: number,
  isLast: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      return await merge(agent, id, isLast, signal);
    } catch (error) {
      signal.throwIfAborted();
      agent.log.warn({ jobId: id, error }, "merging logs failed; trying again");
    }
    await sleep(retryMs, undefined, { signal });
  }
}

async function merge(
  agent: Agent,
  id: number,
  isLast: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { journal, changes } = agent;
  const begun = findJob(journal, id)?.merge;
  if (begun) writePiece(agent, id, begun);
  const look = async () => findPiece(agent, id, isLast()) ?? (isLast() ? "done" : undefined);
  for (;;) {
    const piece = await changes.until(keys.merge(id), look, signal);
    if (piece === "done") return;
    transaction(journal, () => {
      setMerge(journal, id, piece);
      setPart(journal, id, piece.rank, { merged: piece.to });
    });
    writePiece(agent, id, piece);
    const isBusy = isLast() || piece.to - piece.from > pieceBytes / 2;
    await (isBusy ? yieldToOthers() : sleep(gatherMs));
  }
}

/** The next piece of the first rank that has something new. */
function findPiece(agent: Agent, id: number, isLast: boolean): MergePiece | undefined {
  for (const { rank, merged: from } of listParts(agent.journal, id)) {
    const to = endOfPiece(rankLogOf(agent, id, rank), from, isLast);
    if (to > from) return { rank, from, to, at: statSync(logOf(agent, id)).size };
  }
}

/** A piece ends where bytes were left out; what was left out is a piece of its own. */
function endOfPiece(path: string, from: number, isLast: boolean): number {
  const gap = findGap(path);
  const isAhead = gap !== undefined && from < gap.to;
  if (isAhead && from >= gap.from) return statSync(path).size >= gap.to ? gap.to : from;
  const bytes = readBytes(path, from, isAhead ? Math.min(pieceBytes, gap.from - from) : pieceBytes);
  const endsAtGap = isAhead && from + bytes.length === gap.from;
  return from + wholeLines(bytes, isLast || endsAtGap);
}

/** How many of the bytes can go: up to the last newline, all when nothing else will come. */
function wholeLines(bytes: Buffer, last: boolean): number {
  const end = bytes.lastIndexOf(newline) + 1;
  if (end === 0 && bytes.length === pieceBytes) return bytes.length;
  return last && bytes.length < pieceBytes ? bytes.length : end;
}

function writePiece(agent: Agent, id: number, { rank, from, to, at }: MergePiece): void {
  const name = rank === 0 ? "head" : `worker${rank}`;
  const path = rankLogOf(agent, id, rank);
  const bytes = isIn(findGap(path), from)
    ? Buffer.from(gapLine({ from, to }).trimStart())
    : readBytes(path, from, to - from);
  const file = openSync(logOf(agent, id), "r+");
  try {
    const lines = prefixLines(bytes, `(${name}, rank=${rank}) `);
    for (let done = 0; done < lines.length; )
      done += writeSync(file, lines, done, lines.length - done, at + done);
  } finally {
    closeSync(file);
  }
}
