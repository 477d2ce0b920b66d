import type { Compilable } from "kysely";
import type { Queries } from "./open.ts";

type Value = string | number | bigint | null | Uint8Array;
type Built<Row> = ReturnType<Compilable<Row>["compile"]>;

/**
 * A statement of a hot path. It is built once, because that takes longer than running it does; its values
 * are those of the record that it is given, in their order.
 */
export function statement<DB extends Queries, Given extends Readonly<Record<string, Value>>, Row>(
  build: (db: DB, given: Given) => Compilable<Row>,
): (db: DB, given: Given) => Promise<Row[]> {
  const known = new WeakMap<object, Built<Row>>();

  function buildOnce(db: DB, given: Given, values: readonly Value[]): Built<Row> {
    const built = build(db, given).compile();
    if (built.parameters.some((value, at) => value !== values[at]))
      throw new Error(`its values come in another order: ${built.sql}`);
    return built;
  }

  return async (db, given) => {
    const executor = db.getExecutor();
    const parameters = Object.values(given);
    const built = known.get(executor.adapter) ?? buildOnce(db, given, parameters);
    known.set(executor.adapter, built);
    const { rows } = await executor.executeQuery<Row>({ ...built, parameters });
    return rows;
  };
}
