import { execFile } from "node:child_process";
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { AppError } from "../../common/errors.ts";
import { flush, spareBytes, unlessMissing } from "../../common/files.ts";
import { programArgs } from "../../common/programs.ts";

/** A copy of the database as it was at an instant. */
export interface Copy {
  readonly name: string;
  readonly file: string;
  readonly at: Date;
}

const hourMs = 3_600_000;
const everyMs = 24 * hourMs;
/** A new database is copied sooner: until then there is nothing to go back to. */
const firstAfterMs = hourMs;
const kept = 7;
const copyLimitMs = 10 * 60_000;
const nameShape = /^state-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\dZ)\.db$/;

const folderOf = (file: string): string => join(dirname(file), "copies");

/** The copies of a database, newest first. */
export function listCopies(file: string): Copy[] {
  const folder = folderOf(file);
  return namesIn(folder)
    .flatMap((name) => {
      const [, hour, minute, second] = nameShape.exec(name) ?? [];
      if (hour === undefined) return [];
      return [{ name, file: join(folder, name), at: new Date(`${hour}:${minute}:${second}`) }];
    })
    .toSorted((one, other) => other.at.getTime() - one.at.getTime());
}

/** Copies a database when that is due, and drops the oldest copies. Whether it was. */
export async function copyIfDue(file: string, now: Date, signal?: AbortSignal): Promise<boolean> {
  const [newest] = listCopies(file);
  const { birthtimeMs, size } = statSync(file);
  const dueAt = newest ? newest.at.getTime() + everyMs : birthtimeMs + firstAfterMs;
  if (now.getTime() < dueAt) return false;
  await makeCopy(file, size, now, signal);
  for (const { file: old } of listCopies(file).slice(kept)) rmSync(old, { force: true });
  return true;
}

/** In a process of its own: SQLite copies in one piece, and the event loop would wait for it. */
async function makeCopy(
  file: string,
  size: number,
  now: Date,
  signal?: AbortSignal,
): Promise<void> {
  const folder = folderOf(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await spareBytes(folder)) < size)
    throw new AppError(
      "DiskFullError",
      `no copy of ${file} is made: its disk has too little space`,
    );
  const to = join(folder, nameAt(now));
  const args = [...programArgs("control"), copySubcommand, file, `${to}.new`];
  rmSync(`${to}.new`, { force: true });
  try {
    await promisify(execFile)(process.execPath, args, {
      timeout: copyLimitMs,
      env: {},
      ...(signal && { signal }),
    });
    renameSync(`${to}.new`, to);
    await flush(folder);
  } finally {
    rmSync(`${to}.new`, { force: true });
  }
}

/** The word for which control runs `copyNow` and nothing else. */
export const copySubcommand = "copy";

/** Writes all of a database to another file; it is on disk when this returns. */
export function copyNow(file: string, to: string): void {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 60_000 });
  try {
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
  const descriptor = openSync(to, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

const nameAt = (at: Date): string =>
  `state-${at.toISOString().replace(/\.\d+/, "").replaceAll(":", "-")}.db`;

function namesIn(folder: string): string[] {
  return unlessMissing(() => readdirSync(folder), []);
}
