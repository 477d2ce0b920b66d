import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Connected } from "../../control/db/node-sqlite.ts";

/** Who sees the statements of the program under test. */
export interface Statements {
  /** Before each; what it throws is what the statement throws. */
  before(sql: string): void;
  /** Once a transaction is over, with the tables that were written to since the one before. */
  committed(written: ReadonlySet<string>): void;
}

/**
 * The database of this process. Every control plane of every simulation works on it, one at a time as their
 * tasks are, so that it is opened, and its statements are prepared, only once.
 */
const database = new DatabaseSync(":memory:");
const known = new Map<string, StatementSync>();
const watched = new Map<string, StatementSync>();
let watch: Statements | undefined;
let written = new Set<string>();

/** A statement on what is on disk, past the program under test. */
export function prepare(text: string): StatementSync {
  const statement = known.get(text) ?? database.prepare(text);
  known.set(text, statement);
  return statement;
}

/** All rows of a statement. */
export const rows = <T>(statement: StatementSync, ...given: (number | string)[]): T[] =>
  statement.all(...given) as T[];

/** The rows of a statement, read again where one of the tables that they depend on was written to. */
export function reading<T>(text: string, ...tables: readonly string[]) {
  const statement = prepare(text);
  let found: readonly T[] | undefined;
  return (written?: ReadonlySet<string>): readonly T[] => {
    if (found !== undefined && written !== undefined && !tables.some((one) => written.has(one)))
      return found;
    found = rows<T>(statement);
    return found;
  };
}

/** Sees the statements that are run from now on; undefined sees none. */
export function watchStatements(statements: Statements | undefined): void {
  watch = statements;
}

/** What SQLite throws on a full disk. */
export const databaseFull = (): Error =>
  Object.assign(new Error("database or disk is full"), { errcode: 13 });

/** Keeps what is in the database now. Returns what makes it so again. */
export function keepDatabase(): () => void {
  database.exec("ATTACH ':memory:' AS kept");
  const tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
  const names = prepare(tables)
    .all()
    .map(({ name }) => String(name));
  for (const name of names)
    database.exec(`CREATE TABLE kept.${name} AS SELECT * FROM main.${name}`);
  const back = names.map((name) => [
    prepare(`DELETE FROM main.${name}`),
    prepare(`INSERT INTO main.${name} SELECT * FROM kept.${name}`),
  ]);
  return () => {
    database.exec("PRAGMA foreign_keys = OFF; BEGIN; DELETE FROM sqlite_sequence");
    for (const statement of back.flat()) statement.run();
    database.exec("COMMIT; PRAGMA foreign_keys = ON");
  };
}

/** A connection of the program under test. Closed in the midst of a transaction, it leaves all as it was before. */
export function connect(): Connected {
  let isOpen = true;
  const rollBack = () => database.isTransaction && database.exec("ROLLBACK");
  rollBack();
  return {
    get isTransaction() {
      return database.isTransaction;
    },
    exec: (text) => database.exec(text),
    prepare(text) {
      if (!isOpen) throw new Error("database is not open");
      const statement = watched.get(text) ?? watching(text);
      watched.set(text, statement);
      return statement;
    },
    close() {
      if (isOpen) rollBack();
      isOpen = false;
    },
  };
}

const writtenTable = /^(?:insert into|update|delete from) "?(\w+)/i;

/** A statement that tells of itself. */
function watching(text: string): StatementSync {
  // Not one of `prepare`: control has its rows come as arrays.
  const statement = database.prepare(text);
  const table = writtenTable.exec(text)?.[1];
  const telling =
    (name: "all" | "run") =>
    (...given: SQLInputValue[]): unknown => {
      watch?.before(text);
      const result = statement[name](...given);
      if (table !== undefined) written.add(table);
      if (text === "commit") commit();
      return result;
    };
  const used: Record<string, unknown> = {
    columns: () => statement.columns(),
    setReturnArrays: (enabled: boolean) => statement.setReturnArrays(enabled),
    all: telling("all"),
    run: telling("run"),
  };
  return used as unknown as StatementSync;
}

function commit(): void {
  const all = written;
  written = new Set();
  watch?.committed(all);
}
