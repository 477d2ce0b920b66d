import { stripVTControlCharacters } from "node:util";
import { type Column, sheet, table } from "../rendering.ts";
import type { World } from "../world.ts";

export interface OutputOptions {
  readonly output?: "table" | "json";
}

interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Nothing is cut or left out: what is too wide for a table is told below one another. */
  readonly isWhole?: boolean;
  /** What shows names whole that are cut. */
  readonly whole?: "-v" | "-o json";
  /** Said on the note side when there are no rows. */
  readonly empty: string;
}

/** Prints rows as a table that fits, or all they hold as JSON. */
export function answerRows<Row>(
  { terminal }: World,
  { output }: OutputOptions,
  { rows, columns, isWhole = false, whole = "-o json", empty }: Answer<Row>,
): void {
  if (output === "json") terminal.answer(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.note(empty);
  else if (isWhole) terminal.answer(wholeOf(terminal, columns, rows));
  else {
    const { columns: width, paint } = terminal;
    const text = table(columns, rows, { width, paint });
    terminal.answer(text);
    if (rows.some((row) => !text.includes(columns[0]?.text(row) ?? "")))
      terminal.note(`Some were cut to fit; ${whole} shows them whole.`);
  }
}

function wholeOf<Row>(
  { columns: width, paint }: World["terminal"],
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): string {
  const text = table(columns, rows, { width: Number.POSITIVE_INFINITY, paint });
  return widthOf(text) <= width
    ? text
    : rows.map((row) => sheet(factsOf(columns, row), paint)).join("\n\n");
}

const widthOf = (text: string): number =>
  Math.max(...text.split("\n").map((line) => [...stripVTControlCharacters(line)].length));

const factsOf = <Row>(columns: readonly Column<Row>[], row: Row) =>
  columns.map(({ title, text }) => [title, text(row)] as const);
