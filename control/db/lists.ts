import { setImmediate as nextTurn } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";

/** The status of rows that are kept only to be looked at. Indexes over live rows serve no parameter. */
export const gone = sql.lit("GONE" as const);

/** How many rows are read at a time: between pages others have their turn. */
export const pageRows = 500;

/** Values as a subquery: lists of every length share one prepared statement. */
export const among = <Value extends string | number>(values: readonly Value[]): RawBuilder<Value> =>
  sql<Value>`(select value from json_each(${JSON.stringify(values)}))`;

/** Reads a list page by page; `read` gets the last row of the page before. */
export async function* pagesOf<Row>(
  read: (last: Row | undefined) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let last: Row | undefined; ; ) {
    const page = await read(last);
    if (page.length > 0) yield page;
    last = page.at(-1);
    if (page.length < pageRows) return;
    await nextTurn();
  }
}

/** Cuts a list into pages, and lets others have their turn between them. */
export async function* inPages<Item>(items: readonly Item[]): AsyncGenerator<Item[]> {
  for (let at = 0; at < items.length; at += pageRows) {
    if (at > 0) await nextTurn();
    yield items.slice(at, at + pageRows);
  }
}
