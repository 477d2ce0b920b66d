/** A line of a table and the number of the text's line on which it begins; a text for what is no line. */
export interface CsvLine {
  readonly number: number;
  readonly fields: readonly string[] | string;
}

/** A field, in quotes or not, with what ends it. */
const field = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;
const byteOrderMark = /^\uFEFF/;

/** Reads CSV, leaving out empty lines; lines may end without CR, too. Source: RFC 4180. */
export function* readCsv(given: string): Generator<CsvLine> {
  const text = given.replace(byteOrderMark, "");
  let number = 1;
  for (let at = 0; at < text.length; ) {
    const { fields, end } = lineAt(text, at);
    if (fields.length !== 1 || fields[0] !== "") yield { number, fields };
    number += text.slice(at, end).split("\n").length - 1;
    at = end;
  }
}

function lineAt(text: string, start: number): Pick<CsvLine, "fields"> & { end: number } {
  const fields: string[] = [];
  for (let at = start; ; ) {
    field.lastIndex = at;
    const [whole, quoted, plain = "", ending] = field.exec(text) ?? [];
    if (whole === undefined) {
      const newline = text.indexOf("\n", at);
      const end = newline < 0 ? text.length : newline + 1;
      return { fields: "a quote is not closed or misplaced", end };
    }
    fields.push(quoted?.replaceAll('""', '"') ?? plain);
    at += whole.length;
    if (ending !== ",") return { fields, end: at };
  }
}

/** Writes CSV. */
export const toCsv = (lines: readonly (readonly string[])[]): string =>
  lines.map((fields) => `${fields.map(quote).join(",")}\r\n`).join("");

const quote = (text: string) => (/[",\s]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
