import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";

/**
 * How large a log was at an instant: what lies before `size` was written by then, and what lies behind the
 * size of the record before it was written after that one's instant.
 */
export interface Growth {
  readonly size: number;
  /** Epoch milliseconds, by the clock of the machine that has the log. */
  readonly at: number;
}

const recordBytes = 16;
const everyMs = 1_000;
/** The longer a log grows, the rarer are its records: a year of output takes 11 MB. */
const shareOfAge = 1 / 100_000;

/** The file beside a log that holds its records, both numbers as doubles. */
export const growthFileOf = (logFile: string): string => `${logFile}.growth`;

/**
 * Records how large a log is and when it was last written to, at most once a second. Call it while the log grows;
 * after a pause, the first record covers everything that was written meanwhile.
 */
export function recordGrowth(logFile: string): void {
  const now = growthNow(logFile);
  if (now === undefined) return;
  using records = openRecords(logFile, constants.O_RDWR | constants.O_CREAT);
  const { count, read } = records;
  if (count > 0) {
    const [first, last] = [read(0), read(count - 1)];
    const pauseMs = Math.max(everyMs, (now.at - first.at) * shareOfAge);
    if (now.size <= last.size || now.at < last.at + pauseMs) return;
  }
  records.append(now);
}

/** The records that say when the bytes after an offset were written, oldest first; the last one is the present. */
export function listGrowth(logFile: string, after: number, limit: number): Growth[] {
  const now = growthNow(logFile);
  if (now === undefined || now.size <= after) return [];
  using records = openRecords(logFile, constants.O_RDONLY);
  const first = firstIndex(records, ({ size }) => size > after);
  const length = Math.min(limit, records.count - first);
  const found = Array.from({ length }, (_, index) => records.read(first + index));
  const isWhole = found.length < limit && (found.at(-1)?.size ?? 0) < now.size;
  return isWhole ? [...found, now] : found;
}

/** The offset after what was certainly written before an instant. */
export function offsetSince(logFile: string, since: number): number {
  const now = growthNow(logFile);
  if (now === undefined || now.at < since) return now?.size ?? 0;
  using records = openRecords(logFile, constants.O_RDONLY);
  const next = firstIndex(records, ({ at }) => at >= since);
  return next === 0 ? 0 : records.read(next - 1).size;
}

/** Writes the records of a copy of a log; those of an earlier try go. */
export function writeGrowth(logFile: string, records: readonly Growth[]): void {
  const bytes = Buffer.alloc(records.length * recordBytes);
  for (const [index, record] of records.entries()) put(record, bytes, index * recordBytes);
  writeFileSync(growthFileOf(logFile), bytes, { mode: 0o600 });
}

function put({ size, at }: Growth, bytes: Buffer, offset = 0): void {
  bytes.writeDoubleLE(size, offset);
  bytes.writeDoubleLE(at, offset + 8);
}

function growthNow(logFile: string): Growth | undefined {
  const found = statSync(logFile, { throwIfNoEntry: false });
  return found && found.size > 0 ? { size: found.size, at: Math.floor(found.mtimeMs) } : undefined;
}

interface Records extends Disposable {
  readonly count: number;
  read(index: number): Growth;
  append(record: Growth): void;
}

const noRecords: Records = {
  count: 0,
  read: () => ({ size: 0, at: 0 }),
  append() {},
  [Symbol.dispose]() {},
};

function openRecords(logFile: string, flags: number): Records {
  let file: number;
  try {
    file = openSync(growthFileOf(logFile), flags, 0o600);
  } catch {
    return noRecords;
  }
  // A full disk may have taken a part of a record, which the next one replaces.
  const count = Math.floor(fstatSync(file).size / recordBytes);
  const record = Buffer.alloc(recordBytes);
  return {
    count,
    read(index) {
      readSync(file, record, 0, recordBytes, index * recordBytes);
      return { size: record.readDoubleLE(0), at: record.readDoubleLE(8) };
    },
    append(growth) {
      put(growth, record);
      try {
        writeSync(file, record, 0, recordBytes, count * recordBytes);
      } catch {
        // The log is worth more than its instants.
      }
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}

/** Both numbers only grow, so records are found by halving. */
function firstIndex({ count, read }: Records, isBehind: (record: Growth) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBehind(read(middle))) high = middle;
    else low = middle + 1;
  }
  return low;
}
