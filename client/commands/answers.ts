import { stripVTControlCharacters } from "node:util";
import { fail } from "../../common/errors.ts";
import { hintOf } from "../../contract/spelling.ts";
import type { Form } from "../output/shapes.ts";
import { type Column, sheet, table } from "../rendering.ts";
import type { Client } from "../sdk.ts";
import type { World } from "../world.ts";

export interface OutputOptions {
  /** The fields to print as JSON; all when absent. */
  readonly fields?: readonly string[];
}

interface Answer<Row> {
  /** How a row is printed as JSON; null for what is a table alone. */
  readonly form: Form<Row> | null;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Nothing is cut or left out: what is too wide for a table is told below one another. */
  readonly isWhole?: boolean;
  /** What shows names whole that are cut. */
  readonly whole?: "-v" | "-o json";
  /** Said on the note side when there are no rows. */
  readonly empty: string;
}

/** Prints rows as a table that fits, or as JSON. */
export function answerRows<Row>(
  world: World,
  options: OutputOptions,
  { form, rows, columns, isWhole = false, whole = "-o json", empty }: Answer<Row>,
): void {
  const { terminal } = world;
  if (world.json && form !== null) answerJson(world, options, form, rows);
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

interface Listing<Row, Options> extends Pick<Answer<Row>, "form" | "empty"> {
  read(client: Client, options: Options): Promise<readonly Row[]>;
  columns(now: Date): readonly Column<Row>[];
}

/** A command that prints all that control lists. */
export const listing =
  <Row, Options = object>({ read, columns, ...answer }: Listing<Row, Options>) =>
  async (
    world: World,
    _operands: readonly string[],
    options: OutputOptions & Options,
  ): Promise<undefined> => {
    const rows = await read(await world.connect(), options);
    answerRows(world, options, { ...answer, rows, columns: columns(world.now()) });
  };

/** Prints records as JSON; throws `UsageError` for a field that they do not have. */
export function answerJson<Row>(
  { terminal }: World,
  { fields }: OutputOptions,
  form: Form<Row>,
  rows: readonly Row[],
): undefined {
  requireFields(form, fields);
  const shown = rows.map((row) => pick(form, row, fields));
  terminal.answer(JSON.stringify(shown, null, 2));
}

/** Prints one record as JSON; throws as `answerJson` does. */
export function answerOne<Row>(
  { terminal }: World,
  { fields }: OutputOptions,
  form: Form<Row>,
  row: Row,
): undefined {
  requireFields(form, fields);
  terminal.answer(JSON.stringify(pick(form, row, fields), null, 2));
}

/** A record as JSON shows it, with the fields that are wanted. */
export function pick<Row>(
  { of }: Form<Row>,
  row: Row,
  fields: readonly string[] | undefined,
): object {
  const whole: Readonly<Record<string, unknown>> = of(row);
  if (fields === undefined) return whole;
  return Object.fromEntries(fields.map((name) => [name, whole[name] ?? null]));
}

/** Throws `UsageError` for a field that no record of the form has. */
function requireFields(
  { schema }: Pick<Form<never>, "schema">,
  names: readonly string[] = [],
): void {
  const known = Object.keys(schema.shape);
  const odd = names.find((name) => !known.includes(name));
  if (odd !== undefined) fail("UsageError", `--fields: ${hintOn(odd, known)}`);
}

const hintOn = (field: string, known: readonly string[]): string =>
  `there is no field ${field}; ${hintOf(field, known, `expected one of ${known.join(", ")}`)}`;

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
