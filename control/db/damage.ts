import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError, messageOf } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { listCopies } from "./copies.ts";

/** SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_IOERR_SHORT_READ. Source: sqlite.org/rescode.html. */
const damageCodes = [11, 26, 522];
/** Above this size only the structure is checked, and not each index against its table. */
const largestChecked = 256 * 1024 * 1024;

const markOf = (file: string): string => join(dirname(file), "running");

/** Marks a database as in use; whether the last use of it did not end properly. */
export function markInUse(file: string): boolean {
  const mark = markOf(file);
  const isLeft = existsSync(mark);
  writeFileSync(mark, "", { mode: 0o600, flush: true });
  return isLeft;
}

/** Says that the use of a database has ended properly. */
export const clearMark = (file: string): void => rmSync(markOf(file), { force: true });

/** That a database cannot be used as it is, and what to do about it. */
export const damaged = (file: string, what: string, cause?: unknown): AppError =>
  new AppError(
    "ConfigError",
    `the database ${file} is damaged: ${what}; ${wayBack(file)}`,
    {},
    cause,
  );

function wayBack(file: string): string {
  const [newest] = listCopies(file);
  return newest
    ? `restore the copy from ${newest.at.toISOString()} with \`${product.word} api restore\``
    : "there is no copy of it; move it away to start with an empty database";
}

/** Whether SQLite says that the file is no sound database. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error && "errcode" in error)) return false;
  const code = Number(error.errcode);
  // Most of them have refinements, which the bits above say.
  return damageCodes.includes(code) || damageCodes.includes(code & 0xff);
}

/** Throws `ConfigError` for a file that is no sound database; `whole` reads all of it. */
export function checkDatabase(file: string, { whole }: { whole: boolean }): void {
  const { size } = statSync(file);
  if (size === 0) throw damaged(file, "it is empty");
  const problem = problemIn(file, whole ? size : null);
  if (problem !== undefined) throw damaged(file, problem);
}

/** What is wrong with a database; without a size only its header is read. */
function problemIn(file: string, size: number | null): string | undefined {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  try {
    // The migrations have set it; without its journal, a young database is as good as empty.
    if (database.prepare("PRAGMA user_version").get()?.["user_version"] === 0)
      return "it holds nothing";
    if (size === null) return undefined;
    const check = size > largestChecked ? "quick_check" : "integrity_check";
    const row = database.prepare(`PRAGMA ${check}(1)`).get();
    const answer = String(Object.values(row ?? {})[0]);
    return answer === "ok" ? undefined : answer.replaceAll("\n", " ");
  } catch (error) {
    if (isDamage(error)) return messageOf(error);
    throw error;
  } finally {
    database.close();
  }
}
