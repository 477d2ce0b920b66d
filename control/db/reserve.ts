import { randomBytes } from "node:crypto";
import { existsSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Enough for the journal and the shared memory of SQLite, and for what the first requests write. */
const reserveBytes = 2 * 2 ** 20;
/** A disk with less room is not deprived of the reserve. */
const leastFreeBytes = 4 * reserveBytes;

const reserveOf = (database: string): string => `${database}.reserve`;

/**
 * Gives back the room that is kept beside a database if its disk is full, so that control can start and
 * answer reads there. Answers whether it did.
 */
export function freeReserve(database: string): boolean {
  const reserve = reserveOf(database);
  if (!existsSync(reserve) || freeBytes(database) > reserveBytes) return false;
  rmSync(reserve, { force: true });
  return true;
}

/** Keeps room beside a database for a start on a full disk, unless it is kept already or there is too little. */
export function keepReserve(database: string): void {
  const reserve = reserveOf(database);
  if (existsSync(reserve) || freeBytes(database) < leastFreeBytes) return;
  // Random bytes take room on file systems that compress, too.
  writeFileSync(`${reserve}.new`, randomBytes(reserveBytes), { mode: 0o600 });
  renameSync(`${reserve}.new`, reserve);
}

function freeBytes(database: string): number {
  const { bavail, bsize } = statfsSync(dirname(database));
  return bavail * bsize;
}
