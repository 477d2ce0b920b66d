import { fail, toAppError } from "../../common/errors.ts";
import type { Role } from "../../contract/roles.ts";
import { type CsvLine, readCsv } from "./csv.ts";
import { csvColumns } from "./export.ts";
import { requireUserName } from "./names.ts";
import { requirePassword } from "./passwords.ts";
import { readRole } from "./roles.ts";

/** A user as a line of an import has it; what a line leaves empty is undefined. */
export interface ImportRow {
  readonly line: number;
  readonly name: string;
  readonly password: string | undefined;
  readonly role: Role | undefined;
}

/** Each new user costs a hash. */
export const rowsAtMost = 1_000;

/**
 * Reads the rows of an import, and says what is wrong with the others. Throws `ValueError` for a text
 * without the right header or without rows.
 */
export function readRows(text: string): { rows: ImportRow[]; faults: string[] } {
  const [header, ...lines] = readCsv(text).take(rowsAtMost + 2);
  if (header === undefined)
    fail("ValueError", "the text is empty; it must begin with a header line");
  const columns = columnsOf(header);
  if (lines.length === 0) fail("ValueError", "there is no user after the header");
  if (lines.length > rowsAtMost)
    fail("ValueError", `there are too many users; import up to ${rowsAtMost} at a time`);
  const rows = new Map<string, ImportRow>();
  const faults: string[] = [];
  for (const line of lines)
    try {
      const row = readRow(line, columns);
      const same = rows.get(row.name);
      if (same !== undefined) fail("ValueError", `${row.name} is already on line ${same.line}`);
      rows.set(row.name, row);
    } catch (error) {
      faults.push(atLine(line.number, toAppError(error).message));
    }
  if (rows.size === 0) fail("ValueError", `no line names a user: ${faults.slice(0, 3).join("; ")}`);
  return { rows: [...rows.values()], faults };
}

/** A message about a line. */
export const atLine = (line: number, message: string): string => `line ${line}: ${message}`;

/** The columns in their order; each must be there, once, and no other. */
function columnsOf({ fields }: CsvLine): string[] {
  const names = [fields].flat().map((name) => name.trim().toLowerCase());
  if (names.toSorted().join() === csvColumns.toSorted().join()) return names;
  return fail("ValueError", `the first line must be the header ${csvColumns.join(",")}`);
}

function readRow({ number: line, fields }: CsvLine, columns: readonly string[]): ImportRow {
  if (typeof fields === "string") return fail("ValueError", fields);
  if (fields.length !== columns.length)
    fail("ValueError", `there are ${fields.length} fields, not ${columns.length}`);
  const [name = "", password = "", role = ""] = csvColumns.map(
    (column) => fields[columns.indexOf(column)],
  );
  requireUserName(name);
  if (password !== "") requirePassword(password);
  return {
    line,
    name,
    password: password || undefined,
    role: role === "" ? undefined : readRole(role.toLowerCase()),
  };
}
