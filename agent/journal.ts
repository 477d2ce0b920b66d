import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLTagStore } from "node:sqlite";
import { errorCodeOf, fail } from "../common/errors.ts";
import { openSeal, type Seal } from "../common/seal.ts";

/** What the agent knows, on disk. Secrets lie in it sealed. */
export interface Journal {
  readonly db: DatabaseSync;
  readonly sql: SQLTagStore;
  readonly seal: Seal;
  /** Where the corrupt journal is that this one replaces, until it is rebuilt. */
  readonly replaces: string | undefined;
}

/**
 * `jobs` is the head's. A row of `parts` is a rank: on the head each rank of its jobs, elsewhere the
 * node's own. `sidecars` are the head's alone. `started_boot` is the boot in which a job was started and
 * the milliseconds since then. `merge_*` is the piece of a rank's log that was last
 * written into the merged log.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
    job_id INTEGER, status TEXT NOT NULL, lifecycle_id TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, submission_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    user_id TEXT NOT NULL, user_name TEXT NOT NULL, nodes INTEGER NOT NULL,
    resources TEXT NOT NULL, metadata TEXT NOT NULL, status TEXT NOT NULL, verdict TEXT,
    reason TEXT, exit_code INTEGER, submitted_at INTEGER NOT NULL, started_at INTEGER,
    ended_at INTEGER, merge_rank INTEGER, merge_from INTEGER, merge_to INTEGER, merge_at INTEGER,
    started_boot TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS jobs_active ON jobs(id) WHERE ended_at IS NULL;
  CREATE TABLE IF NOT EXISTS specs (
    job_id INTEGER PRIMARY KEY, spec TEXT NOT NULL, secrets BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS sidecars (job_id INTEGER PRIMARY KEY, sidecar BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS parts (
    job_id INTEGER NOT NULL, rank INTEGER NOT NULL, wanted TEXT NOT NULL, grace_ms INTEGER NOT NULL,
    status TEXT NOT NULL, exit_code INTEGER, reason TEXT, boot_id TEXT, cpus REAL NOT NULL,
    accelerators REAL NOT NULL, gpus TEXT NOT NULL, merged INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, rank)) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS parts_live ON parts(job_id) WHERE status <> 'ENDED';
  CREATE TABLE IF NOT EXISTS hook_set (
    only INTEGER PRIMARY KEY, version TEXT NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS lifecycles (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, ended_at INTEGER,
    settled INTEGER NOT NULL, state TEXT NOT NULL, spec BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS mounts (root TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;`;

/** Columns that a journal of an earlier agent lacks. */
const added = [
  { table: "events", column: "lifecycle_id", type: "TEXT" },
  { table: "events", column: "text", type: "TEXT" },
  { table: "jobs", column: "started_boot", type: "TEXT" },
] as const;

/**
 * Opens the journal of a folder, making what is missing. Holds it alone until the process ends, so
 * a second agent on the same home meets `ConflictError` and a killed one leaves nothing stale.
 */
export function openJournal(folder: string): Journal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  try {
    return open(folder);
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    setAside(folder);
    return open(folder);
  }
}

/** Says that the journal is whole again. */
export const endRebuild = (folder: string): void => rmSync(join(folder, marker), { force: true });

/** Whether the database cannot be read any more. Source: SQLite's result codes. */
export const isCorrupt = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && [11, 26].includes(Number(error.errcode) & 0xff);

const file = "journal.db";
const marker = "rebuilding";

/** The marker comes first: whatever ends the agent now, the next one rebuilds. */
function setAside(folder: string): void {
  writeFileSync(join(folder, marker), "");
  for (const suffix of ["", "-wal", "-shm"]) {
    const path = join(folder, file + suffix);
    if (existsSync(path)) renameSync(path, join(folder, `${file}.corrupt${suffix}`));
  }
}

function open(folder: string): Journal {
  const db = new DatabaseSync(join(folder, file));
  try {
    db.exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;");
    db.exec(`BEGIN IMMEDIATE; ${schema} COMMIT;`);
    for (const row of added) addColumn(db, row);
    checkWhole(db);
  } catch (error) {
    db.close();
    if (errorCodeOf(error) === "ERR_SQLITE_ERROR" && /locked/.test(String(error)))
      fail("ConflictError", `another agent serves ${folder}; end it first`);
    throw error;
  }
  const replaces = existsSync(join(folder, marker)) ? join(folder, `${file}.corrupt`) : undefined;
  return { db, sql: db.createTagStore(100), seal: openSeal(join(folder, "key")), replaces };
}

function checkWhole(db: DatabaseSync): void {
  const [first] = db.prepare("PRAGMA quick_check(1)").all();
  const found = String(Object.values(first ?? {})[0]);
  if (found !== "ok") throw Object.assign(new Error(found), { errcode: 11 });
}

function addColumn(db: DatabaseSync, { table, column, type }: (typeof added)[number]): void {
  const columns = db.prepare(`PRAGMA table_info(${table})`).all();
  if (columns.some(({ name }) => name === column)) return;
  db.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`);
}

/** Runs the work whole or not at all; inside another transaction it is a piece of that. */
export function transaction<T>({ db }: Journal, work: () => T): T {
  if (db.isTransaction) return work();
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** The setting that says when the journal was last rebuilt, and where the corrupt one is. */
export const rebuiltSetting = "rebuilt";
export interface Rebuilt {
  readonly at: number;
  readonly aside: string;
}

/** A setting as it was written, or undefined. */
export function findSetting<T>({ sql }: Journal, name: string): T | undefined {
  const row = sql.get`SELECT value FROM settings WHERE name = ${name}`;
  return row === undefined ? undefined : (JSON.parse(String(row["value"])) as T);
}

/** Writes a setting, replacing the one before. */
export function putSetting({ sql }: Journal, name: string, value: unknown): void {
  const text = JSON.stringify(value);
  sql.run`INSERT INTO settings VALUES (${name}, ${text})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}
