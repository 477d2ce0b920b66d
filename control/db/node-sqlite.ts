import { DatabaseSync, type StatementSync } from "node:sqlite";
import {
  type Dialect,
  type Driver,
  type LimitNode,
  SqliteAdapter,
  SqliteDialect,
  SqliteQueryCompiler,
} from "kysely";
import { diskFull } from "../../common/files.ts";
import { blankOf } from "./blank.ts";
import { damaged, isDamage } from "./damage.ts";

/** What the adapter of a database in this process can do beside Kysely's. */
export interface AtOnce {
  /**
   * The rows of a statement of the transaction that is open, or of one that belongs to none; undefined where
   * that is not so: it would see into the transaction of another one.
   */
  runAtOnce(
    text: string,
    values: readonly unknown[],
    isInTransaction: boolean,
  ): unknown[] | undefined;
}

/** What is used of a connection. */
export type Connected = Pick<DatabaseSync, "prepare" | "exec" | "close" | "isTransaction">;

const connect = (file: string): Connected => new DatabaseSync(file, { timeout: 5_000 });

/** Room for the statements of a program; more than it has is a sign of built-in values. */
const statementsKept = 500;

/**
 * Kysely over `node:sqlite`. Every commit is on disk before it returns (WAL, `synchronous=FULL`).
 * Statements are prepared once and kept.
 */
export function nodeSqliteDialect(file: string, database: Connected = connect(file)): Dialect {
  const settings = "journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
  explained(file, () => database.exec(`PRAGMA ${settings}`));
  const statements = new Map<string, KyselyStatement>();
  const prepared = (text: string) =>
    explained(file, () => prepare(database, statements, text, file));
  const dialect = new SqliteDialect({
    database: { close: () => database.close(), prepare: prepared },
  });
  const atOnce: AtOnce = {
    runAtOnce: (text, values, isInTransaction) =>
      database.isTransaction === isInTransaction ? prepared(text).all(values) : undefined,
  };
  return {
    createAdapter: () => Object.assign(new SqliteAdapter(), atOnce),
    createDriver: () => withSureRollback(dialect.createDriver(), database),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => new Compiler(),
  };
}

/**
 * SQLite plans a statement with a bare `LIMIT ?` anew each time that it runs, which takes longer than to run it.
 * Source: `sqlite3ExprIsInteger`, which looks at the value as it plans; it does not look into sums.
 */
class Compiler extends SqliteQueryCompiler {
  protected override visitLimit({ limit }: LimitNode): void {
    this.append("limit 0 + ");
    this.visitNode(limit);
  }
}

/**
 * SQLite may end a transaction by itself where a write failed; what then went wrong is that write, not
 * that there is nothing left to roll back. Source: sqlite.org/lang_transaction.html, section 3.
 */
function withSureRollback(driver: Driver, database: Connected): Driver {
  const rollback = driver.rollbackTransaction.bind(driver);
  driver.rollbackTransaction = async (connection) => {
    if (database.isTransaction) await rollback(connection);
  };
  return driver;
}

function prepare(
  database: Connected,
  statements: Map<string, KyselyStatement>,
  text: string,
  file: string,
): KyselyStatement {
  const known = statements.get(text);
  if (known !== undefined) return known;
  const statement = asKyselyStatement(database.prepare(text), file);
  if (statements.size < statementsKept) statements.set(text, statement);
  return statement;
}

type KyselyStatement = ReturnType<typeof asKyselyStatement>;
type Parameters = readonly (null | number | bigint | string | Uint8Array)[];

/** Rows come as arrays: objects that `node:sqlite` makes take three times as long to make and to read. */
function asKyselyStatement(statement: StatementSync, file: string) {
  const parametersOf = (given: readonly unknown[]) => given as Parameters;
  const names = statement.columns().map(({ name }) => name);
  const toRow = rowOf(names);
  statement.setReturnArrays(true);
  return {
    reader: names.length > 0,
    all: (given: readonly unknown[]) =>
      explained(file, () => statement.all(...parametersOf(given))).map(toRow),
    run(given: readonly unknown[]) {
      const { changes, lastInsertRowid } = explained(file, () =>
        statement.run(...parametersOf(given)),
      );
      return { changes, lastInsertRowid };
    },
    iterate: (given: readonly unknown[]) => statement.iterate(...parametersOf(given)).map(toRow),
  };
}

/** Makes rows of values in the order of these columns. */
function rowOf(names: readonly string[]): (values: unknown) => Record<string, unknown> {
  const blank = blankOf(names);
  return (values) => {
    const row = { ...blank };
    for (let at = 0; at < names.length; at += 1)
      row[names[at] as string] = (values as unknown[])[at];
    return row;
  };
}

/**
 * SQLITE_FULL, SQLITE_IOERR_WRITE and SQLITE_IOERR_SHMSIZE: which of them a full disk is depends on the
 * file that cannot grow. Source: sqlite.org/rescode.html.
 */
const fullCodes = [13, 778, 4_874];

/** Says of a full disk and of a damaged file what they are. */
function explained<T>(file: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Error && "errcode" in error)) throw error;
    if (isDamage(error)) throw damaged(file, error.message, error);
    throw isFull(error) ? diskFull(error) : error;
  }
}

/** Whether SQLite says that a disk is full. */
export const isFull = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && fullCodes.includes(Number(error.errcode));
