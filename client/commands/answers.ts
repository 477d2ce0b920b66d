import { type Column, table } from "../rendering.ts";
import type { World } from "../world.ts";

export interface OutputOptions {
  readonly output?: "table" | "json";
}

interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Said on the note side when there are no rows. */
  readonly empty: string;
}

/** Prints rows as a table that fits, or all they hold as JSON. */
export function answerRows<Row>(
  { terminal }: World,
  { output }: OutputOptions,
  { rows, columns, empty }: Answer<Row>,
): void {
  const { columns: width, paint } = terminal;
  if (output === "json") terminal.answer(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.note(empty);
  else terminal.answer(table(columns, rows, { width, paint }));
}
