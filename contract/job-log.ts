import type { Gap } from "./hooks.ts";

/** Of an answer that streams a log: the offset of its first byte, which lies behind what was left out. */
export const logOffsetHeader = "log-offset";

/** Of an answer that streams a log: how many bytes the log has now. Events of the agent tell when there are more. */
export const logSizeHeader = "log-size";

/** Stands at the end of the log of an attempt whose machine was lost, or went out of reach, before all was read. */
export const missingEnd =
  "\n[the end of this log may be missing: its machine could not be read any more]\n";

/** How many records of a log's growth one answer has. */
export const growthAtMost = 1_000;

const megabyte = 2 ** 20;
/** What is always kept of the beginning of a job's log; a gap, if there is one, begins after it. */
export const firstLogBytes = 16 * megabyte;
const stepBytes = 16 * megabyte;
/** The size of a job's log where nothing else is asked for. */
export const usualLogBytes = 1024 * megabyte;

/**
 * What is left out of a job's log of so many bytes: all but its beginning and its end. The gap grows
 * in steps, so that little work is done for each byte.
 */
export function jobLogGap(sizeBytes: number, atMostBytes: number): Gap | undefined {
  const lastBytes = Math.max(0, atMostBytes - firstLogBytes);
  const to = Math.floor((sizeBytes - lastBytes) / stepBytes) * stepBytes;
  return to > firstLogBytes ? { from: firstLogBytes, to } : undefined;
}
