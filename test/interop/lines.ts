import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ended } from "./command.ts";

/** What must come of a line. `until` is an answer that may take a while: the line is repeated. */
const outcomes = ["answer", "until", "sentence"] as const;
type Outcome = (typeof outcomes)[number];

/** One command line of the existing client, and what must come of it. */
export interface Line {
  readonly args: readonly string[];
  readonly outcome: Outcome;
  readonly exitCode: number;
  /** What the output has: a text, `/a pattern/`, or `@FILE text` for a file that holds it afterwards. */
  readonly shows: readonly string[];
}

/** Lines that run side by side once those of the stage before have ended. */
export type Stage = readonly Line[];

/** Which lines of a table there are: of a client of this version, with these values of `{names}`. */
export interface Reader {
  readonly version: string;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Reads a table: a line a row, in columns parted by ` | `: outcome and exit code, the command, what it
 * shows. A row that begins with `0.14+` or `0.12` is for clients from that version on, or of that
 * version. A command that begins with `!` is any program's. Empty rows end a stage.
 */
export function readStages(text: string, reader: Reader): Stage[] {
  const filled = text.replace(/\{(\w+)\}/g, (whole, name) => reader.values[name] ?? whole);
  return filled
    .split(/\n\s*\n/)
    .map((rows) => rows.split("\n").flatMap((row) => readRow(row, reader.version)))
    .filter((stage) => stage.length > 0);
}

function readRow(row: string, version: string): Line[] {
  if (row.trim() === "" || row.startsWith("#")) return [];
  const [first = "", command = "", ...shown] = row.split(/ +\| +/);
  const [exitCode = "", word = "", wanted] = first.trim().split(/ +/).reverse();
  if (wanted !== undefined && !isFor(wanted, version)) return [];
  const outcome = outcomes.find((one) => one === word);
  if (outcome === undefined) throw new Error(`no outcome in the row: ${row}`);
  const shows = shown.join(" | ").split(" && ").filter(Boolean);
  return [{ args: wordsOf(command), outcome, exitCode: Number(exitCode), shows }];
}

const isFor = (wanted: string, version: string): boolean =>
  wanted.endsWith("+") ? minorOf(version) >= minorOf(wanted) : minorOf(version) === minorOf(wanted);

const minorOf = (version: string): number => Number(version.split(".")[1]?.replace("+", ""));

/** The words of a command, as a shell parts them. */
const wordsOf = (command: string): string[] =>
  command.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? [];

const tracebackBegins = "Traceback (most recent call last)";

/** Whether a command ended with a traceback. */
export const hasTraceback = ({ text }: Ended): boolean => text.includes(tracebackBegins);

/** What is wrong with how a line ended in a client with this home, or undefined. */
export function faultOf({ exitCode, shows }: Line, ended: Ended, home: string): string | undefined {
  if (hasTraceback(ended)) return "a traceback";
  if (ended.exitCode !== exitCode) return `exit code ${ended.exitCode}, not ${exitCode}`;
  const missing = shows.find((one) => !isShown(one, ended.text, home));
  return missing && `the output lacks ${missing}`;
}

function isShown(wanted: string, text: string, home: string): boolean {
  const [, file, content] = /^@(\S+) (.*)$/.exec(wanted) ?? [];
  if (file !== undefined && content !== undefined)
    return globSync(join(home, file)).some((path) => readFileSync(path, "utf8").includes(content));
  const [, pattern] = /^\/(.*)\/$/.exec(wanted) ?? [];
  return pattern === undefined ? text.includes(wanted) : new RegExp(pattern, "m").test(text);
}
