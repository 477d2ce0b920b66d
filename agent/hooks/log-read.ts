import { existsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { type Gap, gapOf, type HookEvent } from "../../contract/hooks.ts";
import { type Agent, keys } from "../context.ts";
import { getRow } from "../lifecycles/lifecycles.ts";
import { findLifecycleSpec } from "../lifecycles/store.ts";
import { isIn } from "../log-gap.ts";
import type { OpenLog } from "../logs.ts";
import { type Masker, openMasker } from "../mask.ts";
import { placeInKept } from "./log-size.ts";
import { hookLogOf, keptLogOf, sizeOfHookLog } from "./logs.ts";

const chunkBytes = 256 * 1024;

/** Which log, and from where. */
export interface HookLogRange {
  readonly id: string;
  readonly event: HookEvent;
  readonly offset: number;
  /** Wait for more until no more can come. */
  readonly follow: boolean;
}

/**
 * Opens the log of an event in a lifecycle, secrets masked. Bytes that were left out are skipped at
 * the beginning; where they lie further on the log ends, and the reader asks again from there.
 * Throws `NotFoundError` for a lifecycle that nobody knows.
 */
export function openHookLog(agent: Agent, range: HookLogRange, signal: AbortSignal): OpenLog {
  const { id } = range;
  const gap = look(agent, range).gap;
  const offset = isIn(gap, range.offset) ? gap.to : range.offset;
  const masker = openMasker(Object.values(findLifecycleSpec(agent, id)?.secrets ?? {}));
  return { offset, bytes: readOn(agent, { ...range, offset }, masker, signal) };
}

/** What there is of a log now. */
interface Look {
  readonly size: number;
  readonly isOver: boolean;
  readonly gap: Gap | undefined;
  /** Another number means that the file was written anew. */
  readonly rewrites: number;
}

function look(agent: Agent, { id, event }: Pick<HookLogRange, "id" | "event">): Look {
  const row = getRow(agent, id);
  const log = row.logs.find((one) => one.event === event);
  const isDecided = row.isSettled || row.status === "READY";
  const isOver = log === undefined ? isDecided : log.sizeBytes !== null;
  const size = sizeOfHookLog(agent, row, event);
  const rewrites = agent.rewrites.get(hookLogOf(agent, id, event)) ?? 0;
  return { size, isOver, gap: gapOf(size, isOver), rewrites };
}

/** Bytes that follow one another, and what is at their ends. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly isCutBefore: boolean;
  readonly isCutAfter: boolean;
  readonly mayGrow: boolean;
}

/** The stretch around a place; undefined where bytes were left out. */
function stretchAt(at: number, { size, isOver, gap }: Look): Stretch | undefined {
  const whole = { isCutBefore: false, isCutAfter: false, mayGrow: !isOver };
  if (gap === undefined) return { ...whole, start: 0, end: size };
  if (at < gap.from) return { ...whole, start: 0, end: gap.from, isCutAfter: true, mayGrow: false };
  if (at < gap.to) return undefined;
  return { ...whole, start: gap.to, end: size, isCutBefore: true };
}

async function* readOn(
  agent: Agent,
  range: HookLogRange,
  masker: Masker,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  await using file = openLazily(agent, range, masker);
  for (let at = range.offset; ; ) {
    const seen = look(agent, range);
    const stretch = stretchAt(at, seen);
    if (stretch === undefined) return;
    const piece = await file.read(at, stretch, seen.gap);
    const after = look(agent, range);
    const now = stretchAt(at, after);
    if (after.rewrites !== seen.rewrites) continue;
    // What is left out may have grown while we read, and have taken what we read.
    if (now === undefined) return;
    if (now.start !== stretch.start || now.end < stretch.end) continue;
    at += piece.length;
    if (piece.length > 0) yield piece;
    else if (!stretch.mayGrow || !range.follow) return;
    else await untilNews(agent, range, seen, signal);
  }
}

async function untilNews(
  agent: Agent,
  range: HookLogRange,
  seen: Look,
  signal: AbortSignal,
): Promise<void> {
  const hasNews = async () => {
    const { size, isOver } = look(agent, range);
    return size !== seen.size || isOver !== seen.isOver || undefined;
  };
  await agent.changes.until(keys.log(hookLogOf(agent, range.id, range.event)), hasNews, signal);
}

/** The file of a log, and whether what was left out is missing in it. */
interface LogFile {
  readonly handle: FileHandle;
  readonly isKept: boolean;
  unwatch(): void;
}

/** Reads the file of a log, which is opened and watched once it is there. */
function openLazily(agent: Agent, { id, event }: HookLogRange, masker: Masker) {
  const block = Buffer.allocUnsafe(chunkBytes + 2 * masker.reach);
  let file: LogFile | undefined;
  return {
    /** The next bytes at a place, masked; none when all are read, or when they may be half a secret. */
    async read(at: number, stretch: Stretch, gap: Gap | undefined): Promise<Buffer> {
      file ??= await findFile(agent, id, event);
      if (file === undefined) return block.subarray(0, 0);
      return readMasked(file, block, at, { stretch, gap, masker });
    },
    async [Symbol.asyncDispose]() {
      file?.unwatch();
      await file?.handle.close();
    },
  };
}

async function findFile(agent: Agent, id: string, event: HookEvent): Promise<LogFile | undefined> {
  const kept = keptLogOf(agent, id, event);
  const whole = hookLogOf(agent, id, event);
  if (existsSync(kept)) return { handle: await open(kept), isKept: true, unwatch() {} };
  if (!existsSync(whole)) return undefined;
  const unwatch = agent.watches.add(whole);
  try {
    return { handle: await open(whole), isKept: false, unwatch };
  } catch (error) {
    unwatch();
    // It was made smaller just now.
    if (existsSync(kept)) return findFile(agent, id, event);
    throw error;
  }
}

/** Bytes around those that are wanted are read as well: they may complete a secret. */
async function readMasked(
  { handle, isKept }: LogFile,
  block: Buffer,
  at: number,
  { stretch, gap, masker }: { stretch: Stretch; gap: Gap | undefined; masker: Masker },
): Promise<Buffer> {
  const from = Math.max(stretch.start, at - masker.reach);
  const to = Math.min(stretch.end, at + chunkBytes + masker.reach);
  if (from >= to) return block.subarray(0, 0);
  const place = isKept && gap !== undefined ? placeInKept(gap, from) : from;
  const { bytesRead } = await handle.read(block, 0, to - from, place);
  const bytes = block.subarray(0, bytesRead);
  const isLast = from + bytesRead === stretch.end;
  const held = isLast && stretch.mayGrow ? masker.openAtEnd(bytes) : 0;
  masker.mask(bytes, {
    start: stretch.isCutBefore && from === stretch.start,
    end: stretch.isCutAfter && isLast,
  });
  const end = Math.min(at + chunkBytes, from + bytesRead - held);
  return bytes.subarray(at - from, Math.max(at, end) - from);
}
