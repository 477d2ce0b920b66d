import type { Compilable } from "kysely";
import type { AtOnce } from "./node-sqlite.ts";
import type { Queries } from "./open.ts";

type Value = string | number | bigint | null | Uint8Array;
type Choice = boolean | undefined;
type Built<Row> = ReturnType<Compilable<Row>["compile"]>;

/** What a statement is given: values, lists as `among` writes them, and what chooses its form. */
export type Fields = { readonly [field: string]: Value | readonly string[] | Choice };

/**
 * A statement of a hot path. It is built once for all databases, because that takes longer than running it
 * does; its values are those of the record that it is given, in their order. It is run without waiting for
 * a connection, where the database allows that. Fields that are booleans or undefined
 * hold no values: for each of their combinations the statement is built anew.
 */
export function statement<DB extends Queries, Given extends Fields, Row>(
  build: (db: DB, given: Given) => Compilable<Row>,
): (db: DB, given: Given) => Promise<Row[]> {
  const forms = new Map<string, Built<Row>>();

  function buildOnce(db: DB, given: Given, values: readonly Value[]): Built<Row> {
    const built = build(db, given).compile();
    if (values.length !== built.parameters.length || !built.parameters.every(isAt(values)))
      throw new Error(`its values are in another order: ${built.sql}`);
    return built;
  }

  return async (db, given) => {
    const executor = db.getExecutor();
    const { form, parameters } = read(given);
    const built = forms.get(form) ?? buildOnce(db, given, parameters);
    forms.set(form, built);
    const { runAtOnce } = executor.adapter as Partial<AtOnce>;
    const rows = runAtOnce?.(built.sql, parameters, db.isTransaction);
    if (rows !== undefined) return rows as Row[];
    return (await executor.executeQuery<Row>({ ...built, parameters })).rows;
  };
}

const isAt = (values: readonly Value[]) => (value: unknown, at: number) => value === values[at];

/** The values of a record, and words for their order and for what its other fields choose. */
function read(given: Fields): { form: string; parameters: Value[] } {
  const parameters: Value[] = [];
  let form = "";
  for (const [field, value] of Object.entries(given)) {
    const isChoice = value === undefined || typeof value === "boolean";
    form += isChoice ? `${field} ${value} ` : `${field} ? `;
    if (!isChoice) parameters.push(isList(value) ? JSON.stringify(value) : value);
  }
  return { form, parameters };
}

const isList = (value: Value | readonly string[]): value is readonly string[] =>
  Array.isArray(value);
