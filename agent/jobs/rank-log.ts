import { statSync, truncateSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { fail } from "../../common/errors.ts";
import { type Agent, keys } from "../context.ts";
import { rankLogOf } from "../folders.ts";
import { findGap, writeGap } from "../log-gap.ts";
import { findPart } from "./part-store.ts";
import { getRank } from "./ranks.ts";

/** Where bytes of a worker's log belong. */
export interface RankLogPlace {
  readonly id: number;
  readonly rank: number;
  readonly offset: number;
  /** Where the bytes before `offset` begin that the worker has left out of its log. */
  readonly leftOutFrom?: number | undefined;
}

/**
 * Writes bytes of a worker's log where they belong, so the same bytes twice do no harm. What lies between
 * the end of the head's copy and the offset must have been left out by the worker; otherwise it is a
 * `ConflictError`. Answers how many bytes the head has.
 */
export async function appendPartLog(
  agent: Agent,
  place: RankLogPlace,
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ logBytes: number }> {
  const { id, rank, offset } = place;
  getRank(agent, id, rank);
  const path = rankLogOf(agent, id, rank);
  if (offset > sizeOf(path)) skipLeftOut(agent, path, place);
  await using file = await open(path, "r+");
  let at = offset;
  for await (const chunk of bytes) {
    await writeWhole(file, chunk, at);
    at += chunk.length;
  }
  agent.changes.notify(keys.merge(id));
  return { logBytes: sizeOf(path) };
}

/**
 * Extends the head's copy over what the worker left out. A log has one gap, so whatever lies before the
 * new one has to be merged first, except for the text that comes right before it.
 */
function skipLeftOut(
  agent: Agent,
  path: string,
  { id, rank, offset, leftOutFrom }: RankLogPlace,
): void {
  const logBytes = sizeOf(path);
  if (leftOutFrom === undefined || leftOutFrom > logBytes)
    fail("ConflictError", `the head has ${logBytes} bytes of rank ${rank}; go on there`, {
      logBytes,
    });
  const merged = findPart(agent.journal, id, rank)?.merged ?? 0;
  if (merged < (findGap(path)?.to ?? 0))
    fail("ConflictError", `the head has yet to merge what it has of rank ${rank}; try again`);
  // Written first: a reader must not take a hole for what was printed.
  writeGap(path, { from: logBytes, to: offset });
  truncateSync(path, offset);
}

/** Writes all the bytes at a place; a full disk takes the first of them before it refuses the rest. */
async function writeWhole(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

const sizeOf = (path: string): number => statSync(path).size;
