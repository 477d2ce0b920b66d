import { parseEnv } from "node:util";
import { fail, messageOf } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { shellWord } from "../common/shell-word.ts";
import { readBytes } from "./named-file.ts";
import type { World } from "./world.ts";

/** A whole number that is at least `least` and at most `most`; throws `UsageError`. */
export const wholeNumber =
  (least: number, most = Number.POSITIVE_INFINITY) =>
  (text: string): number => {
    const value = Number(text);
    const bounds =
      most === Number.POSITIVE_INFINITY ? `of at least ${least}` : `from ${least} to ${most}`;
    if (!Number.isInteger(value) || value < least || value > most || text.trim() === "")
      fail("UsageError", `${JSON.stringify(text)} is not a whole number ${bounds}`);
    return value;
  };

/** What a cost report is grouped by: `user`, `workspace` or `label:NAME`; throws `UsageError`. */
export function groupOf(text: string): string {
  if (/^(user|workspace|label:.+)$/.test(text)) return text;
  return fail("UsageError", `${JSON.stringify(text)} is none of user, workspace and label:NAME`);
}

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
/** As long as timers can be. */
const mostSeconds = 20 * 86_400;

/** A duration such as `90`, `90s`, `10m` or `2h`, in seconds; throws `UsageError`. */
export function durationOf(text: string): number {
  const [, digits = "", unit = "s"] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  const seconds = Number(digits) * (secondsOf[unit] ?? 1);
  if (seconds < 1 || seconds > mostSeconds)
    fail("UsageError", `${JSON.stringify(text)} is no duration of up to 20 days: 90s, 10m, 2h`);
  return seconds;
}

/** The instant of `--since`: so long ago, or as RFC 3339 writes it. Throws `UsageError`. */
export function pastOf(text: string): Date {
  const [, digits, unit = "s"] = /^(\d{1,6})([smhd])?$/.exec(text) ?? [];
  if (digits !== undefined)
    return new Date(Date.now() - Number(digits) * (secondsOf[unit] ?? 1) * 1_000);
  const isInstant = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?)?$/.test(
    text,
  );
  const past = new Date(isInstant ? text : Number.NaN);
  if (Number.isNaN(past.getTime()))
    fail("UsageError", `${JSON.stringify(text)} is no time: 90m, 24h, 30d, 2026-11-20T18:00:00Z`);
  return past;
}

/** The regular expression of `--grep`; throws `UsageError` for one that is none. */
export function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    return fail("UsageError", messageOf(error));
  }
}

/** Gathers an option that may be given several times. */
export const collected = (text: string, before: unknown): string[] => [
  ...(Array.isArray(before) ? before : []),
  text,
];

/** The job ids among operands; throws `UsageError` for one that is no number. */
export function jobIdsOf(words: readonly string[]): number[] {
  return words.map((word) =>
    /^\d+$/.test(word) ? Number(word) : fail("UsageError", `${word} is not a job id`),
  );
}

/**
 * Variables from a file and from `KEY=VALUE` or `KEY` (its value in our environment), which win.
 * Throws `UsageError` for a `KEY` that is not set and for a file with other lines, `NotFoundError` for one that
 * is not there.
 */
export function variablesOf(
  pairs: readonly string[] = [],
  file: string | undefined,
  world: Pick<World, "env" | "cwd">,
): Record<string, string> {
  const fromFile = file === undefined ? {} : parseFile(readBytes(world, file).toString(), file);
  const given = pairs.map((pair): [string, string] => {
    const [key = "", ...rest] = pair.split("=");
    if (!/^[A-Za-z_]\w*$/.test(key)) fail("UsageError", `${key} cannot be a variable's name`);
    const value = rest.length > 0 ? rest.join("=") : world.env[key];
    return [key, value ?? fail("UsageError", `${key} is not set here; export it first`)];
  });
  return { ...withoutGaps(fromFile), ...Object.fromEntries(given) };
}

/** Refuses the lines that a parser would drop; they may be secret, so only their numbers are told. */
function parseFile(text: string, file: string) {
  const withoutQuoted = text.replace(/=\s*(["'`])[\s\S]*?\1/g, (value) =>
    value.replace(/[^\n]+/g, "="),
  );
  const odd = withoutQuoted
    .split("\n")
    .flatMap((line, at) => (/^\s*(#|$)|=/.test(line) ? [] : [at + 1]));
  if (odd.length > 0)
    fail(
      "UsageError",
      `${file}: no \`=\` on line ${odd.join(", ")}; write KEY=VALUE, or # before a comment`,
    );
  return parseEnv(text);
}

const withoutGaps = (values: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(
    Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );

/** Whether a command line holds the value of a secret, which others of this machine could read. */
export const holdsSecret = (words: readonly string[]): boolean =>
  originOf(words) !== originOf([]) + words.map((word) => ` ${shellWord(word)}`).join("");

/** The command line as others may see it: what was given as a secret is left out. */
export function originOf(words: readonly string[]): string {
  const shown = words.map((word, index) => {
    if (words[index - 1] === "--secret") return word.replace(/=[\s\S]*/, "=<redacted>");
    return word.replace(/^(--secret=[^=]*=)[\s\S]*/, "$1<redacted>");
  });
  return [product.word, ...shown.map(shellWord)].join(" ");
}

/** A name for a cluster that was given none: `outrigger-3fa9-ana`. */
export function madeUpName(userName: string, random: string): string {
  const user = userName.toLowerCase().replace(/[^a-z0-9]+/g, "") || "user";
  return `${product.word}-${random}-${user}`;
}

/** Whether a word stands for names rather than being one. */
export const isPattern = (word: string): boolean => /[*?[]/.test(word);
