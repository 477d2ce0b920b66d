import { byte, bytesOf, equalsAnyCase, isToken, isValue } from "./bytes.ts";
import { isPlainName, isReadAs } from "./forwarding-names.ts";
import type { Refusal } from "./refusals.ts";

/** A header line found by `readLine`: offsets of its name, its trimmed value, and the next line. */
export const line = { from: 0, nameTo: 0, valueFrom: 0, valueTo: 0, to: 0 };

/** What lies at an offset: a line, the end of the head, less than a line, or nothing valid. */
export type LineFound = "line" | "end" | "incomplete" | Refusal;

/** Reads the header line that starts at `from` into `line`. Source: RFC 9112 section 5. */
export function readLine(bytes: Uint8Array, from: number, to: number): LineFound {
  let at = from;
  while (at < to && isToken[bytes[at] ?? 0] === 1) at++;
  if (at === to) return "incomplete";
  if (at === from && bytes[at] === byte.cr) return readEnd(bytes, at, to);
  if (at === from || bytes[at] !== byte.colon) return "badName";
  line.from = from;
  line.nameTo = at++;
  while (at < to && isBlank(bytes[at])) at++;
  line.valueFrom = at;
  while (at < to && isValue[bytes[at] ?? 0] === 1) at++;
  if (at === to) return "incomplete";
  if (bytes[at] !== byte.cr) return bytes[at] === byte.lf ? "badLineEnd" : "badValue";
  if (at + 1 === to) return "incomplete";
  if (bytes[at + 1] !== byte.lf) return "badLineEnd";
  line.to = at + 2;
  while (at > line.valueFrom && isBlank(bytes[at - 1])) at--;
  line.valueTo = at;
  return "line";
}

function readEnd(bytes: Uint8Array, at: number, to: number): LineFound {
  if (at + 1 === to) return "incomplete";
  if (bytes[at + 1] !== byte.lf) return "badLineEnd";
  line.to = at + 2;
  return "end";
}

const isBlank = (code: number | undefined): boolean => code === byte.space || code === byte.tab;

/** What a head does with a header that it knows; a reason when it must be refused. */
export type Take<Head> = (head: Head, bytes: Uint8Array) => Refusal | undefined;

/** Headers by the length of their names, so that most names are told apart without a look. */
export type Fields<Head> = readonly (readonly { name: Buffer; take: Take<Head> }[])[];

/** Orders a table of header names, in lower case, for `takeLine`. */
export function fieldsOf<Head>(table: Readonly<Record<string, Take<Head>>>): Fields<Head> {
  const rows = Object.entries(table).map(([name, take]) => ({ name: bytesOf(name), take }));
  const longest = Math.max(...rows.map(({ name }) => name.length));
  return Array.from({ length: longest + 1 }, (_, length) =>
    rows.filter(({ name }) => name.length === length),
  );
}

/** Lets the head take the line just read, if it knows the name; `alike` takes one that is only read as such a name. */
export function takeLine<Head>(
  fields: Fields<Head>,
  head: Head,
  bytes: Uint8Array,
  alike?: Take<Head>,
): Refusal | undefined {
  const rows = fields[line.nameTo - line.from];
  if (rows === undefined) return undefined;
  for (const { name, take } of rows)
    if (isReadAs(bytes, line.from, line.nameTo, name))
      return isPlainName(bytes, line.from, line.nameTo) ? take(head, bytes) : alike?.(head, bytes);
  return undefined;
}

/** The number in the value of the line just read; -1 when it is anything but plain digits. */
export function readLength(bytes: Uint8Array): number {
  const digits = line.valueTo - line.valueFrom;
  if (digits === 0 || digits > 15) return -1;
  if (digits > 1 && bytes[line.valueFrom] === byte.zero) return -1;
  let length = 0;
  for (let at = line.valueFrom; at < line.valueTo; at++) {
    const code = bytes[at] ?? 0;
    if (code < byte.zero || code > byte.nine) return -1;
    length = length * 10 + (code - byte.zero);
  }
  return length;
}

const chunked = bytesOf("chunked");

/** Whether the value of the line just read is `chunked` and nothing else. */
export const isChunked = (bytes: Uint8Array): boolean =>
  equalsAnyCase(bytes, line.valueFrom, line.valueTo, chunked);
