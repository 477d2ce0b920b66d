import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type Dialect, SqliteAdapter, SqliteDialect, SqliteQueryCompiler } from "kysely";

/** Room for the statements of a program; more than it has is a sign of built-in values. */
const statementsKept = 500;

/**
 * Kysely over `node:sqlite`. Every commit is on disk before it returns (WAL, `synchronous=FULL`).
 * Statements are prepared once and kept.
 */
export function nodeSqliteDialect(file: string): Dialect {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  const statements = new Map<string, KyselyStatement>();
  const dialect = new SqliteDialect({
    database: {
      close: () => database.close(),
      prepare: (text: string) => prepare(database, statements, text),
    },
  });
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => dialect.createDriver(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

function prepare(
  database: DatabaseSync,
  statements: Map<string, KyselyStatement>,
  text: string,
): KyselyStatement {
  const known = statements.get(text);
  if (known !== undefined) return known;
  const statement = asKyselyStatement(database.prepare(text));
  if (statements.size < statementsKept) statements.set(text, statement);
  return statement;
}

type KyselyStatement = ReturnType<typeof asKyselyStatement>;
type Parameters = readonly (null | number | bigint | string | Uint8Array)[];

function asKyselyStatement(statement: StatementSync) {
  const parametersOf = (given: readonly unknown[]) => given as Parameters;
  return {
    reader: statement.columns().length > 0,
    all: (given: readonly unknown[]) => statement.all(...parametersOf(given)),
    run(given: readonly unknown[]) {
      const { changes, lastInsertRowid } = statement.run(...parametersOf(given));
      return { changes, lastInsertRowid };
    },
    iterate: (given: readonly unknown[]) =>
      statement.iterate(...parametersOf(given)) as IterableIterator<unknown>,
  };
}
