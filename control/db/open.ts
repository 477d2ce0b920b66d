import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Kysely, sql, type Transaction } from "kysely";
import { fail } from "../../common/errors.ts";
import { type Connected, nodeSqliteDialect } from "./node-sqlite.ts";
import type { Tables } from "./tables.ts";

export type Database = Kysely<Tables>;
/** A transaction on the database, which a `Batch` opens: what functions of a store need that write. */
export type Connection = Transaction<Tables>;
/** The database, or a transaction on it: what functions of a store need that only read. */
export type Queries = Pick<
  Database,
  "selectFrom" | "selectNoFrom" | "fn" | "getExecutor" | "isTransaction"
>;

/**
 * Opens the embedded database, made and brought up to date when it is not. Throws `ConfigError` for one
 * that a newer version has changed.
 */
export async function openDatabase(file: string, connection?: Connected): Promise<Database> {
  if (file !== ":memory:") mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const db = new Kysely<Tables>({ dialect: nodeSqliteDialect(file, connection) });
  try {
    await migrate(db, file);
    return db;
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** Runs what `migrations/` has beyond the database's version, each file in a transaction. */
async function migrate(db: Database, name: string): Promise<void> {
  const folder = join(import.meta.dirname, "migrations");
  const files = readdirSync(folder).sort();
  const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(db);
  const version = rows[0]?.user_version ?? 0;
  if (version > files.length)
    fail(
      "ConfigError",
      `${name} was upgraded by a newer version of control; start that version, ` +
        "or restore a copy from before the upgrade",
    );
  for (const [index, file] of files.entries()) {
    if (index < version) continue;
    const statements = statementsOf(readFileSync(join(folder, file), "utf8"));
    await db.transaction().execute(async (tx) => {
      for (const statement of statements) await sql.raw(statement).execute(tx);
      await sql.raw(`PRAGMA user_version = ${index + 1}`).execute(tx);
    });
  }
}

const statementsOf = (text: string): string[] =>
  text
    .replace(/^--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
