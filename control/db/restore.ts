import { copyFileSync, existsSync, linkSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { fail } from "../../common/errors.ts";
import { flush } from "../../common/files.ts";
import { type Copy, listCopies } from "./copies.ts";
import { checkDatabase, clearMark } from "./damage.ts";

/** What was put back, and where the database before it is; null when there was none. */
export interface Restored {
  readonly copy: Copy;
  readonly aside: string | null;
}

/**
 * Puts a copy, the newest when none is named, in place of a database that nobody uses. The one before
 * is kept aside. Throws `NotFoundError` when there is no such copy, `ConfigError` when it is damaged.
 */
export async function restore(
  file: string,
  name: string | undefined,
  now: Date,
): Promise<Restored> {
  const copy = findCopy(file, name);
  checkDatabase(copy.file, { whole: true });
  const draft = `${file}.new`;
  copyFileSync(copy.file, draft);
  await flush(draft);
  const aside = `${file}.before-${now.toISOString().replace(/\.\d+/, "").replaceAll(":", "-")}`;
  const isThere = existsSync(file);
  // First, as the journal of one database must never be read into another.
  for (const end of ["-wal", "-shm"])
    if (existsSync(file + end)) renameSync(file + end, aside + end);
  if (isThere) linkSync(file, aside);
  renameSync(draft, file);
  await flush(dirname(file));
  clearMark(file);
  return { copy, aside: isThere ? aside : null };
}

function findCopy(file: string, name: string | undefined): Copy {
  const copies = listCopies(file);
  const copy = name === undefined ? copies[0] : copies.find((one) => one.name === name);
  if (copy !== undefined) return copy;
  if (copies.length === 0)
    fail(
      "NotFoundError",
      `there is no copy of ${file}; move it away to start with an empty database`,
    );
  const names = copies.map((one) => one.name).join(", ");
  return fail("NotFoundError", `there is no copy ${name}; there are ${names}`);
}
