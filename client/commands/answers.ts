import { type Column, table } from "../rendering.ts";
import type { World } from "../world.ts";

export interface OutputOptions {
  readonly output?: "table" | "json";
}

interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Nothing is cut or left out, though lines wrap. */
  readonly isWhole?: boolean;
  /** Said on the note side when there are no rows. */
  readonly empty: string;
}

/** Prints rows as a table that fits, or all they hold as JSON. */
export function answerRows<Row>(
  { terminal }: World,
  { output }: OutputOptions,
  { rows, columns, isWhole = false, empty }: Answer<Row>,
): void {
  const { paint } = terminal;
  const width = isWhole ? Number.POSITIVE_INFINITY : terminal.columns;
  if (output === "json") terminal.answer(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.note(empty);
  else terminal.answer(table(columns, rows, { width, paint }));
}
