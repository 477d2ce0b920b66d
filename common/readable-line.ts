import { ifPossible } from "./errors.ts";

const levels: Readonly<Record<number, string>> = {
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
};

/**
 * A line of a log, which is JSON, as people read it on a terminal: time, program, level, message, fields, and
 * below them the stack of an error. What is no such line stays as it is. Nothing in it moves the cursor.
 */
export function readableLine(line: string): string {
  const parsed = parse(line);
  if (parsed === undefined) return line;
  const { level, time, program, msg, ...fields } = parsed;
  const name = levels[Number(level)] ?? String(level);
  const clock = /T([\d:]{8})/.exec(String(time))?.[1] ?? String(time);
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${textOf(value)}`);
  const words = [
    `${clock}Z`,
    program,
    name.padEnd("error".length),
    harmless(String(msg)),
    ...shown,
  ];
  const stacks = Object.values(fields).flatMap(stackOf);
  return [words.join(" "), ...stacks, ""].join("\n");
}

function parse(line: string): Record<string, unknown> | undefined {
  const value: unknown = ifPossible(() => JSON.parse(line));
  return typeof value === "object" && value !== null && "msg" in value ? { ...value } : undefined;
}

/** A field's value: bare if it is one word, else as JSON. */
function textOf(value: unknown): string {
  if (typeof value === "string" && /^[\w./:@+-]+$/.test(value)) return value;
  return harmless(JSON.stringify(withoutStack(value)) ?? "-");
}

const hasStack = (value: unknown): value is { message?: unknown; stack: string } =>
  typeof value === "object" && value !== null && typeof Object(value).stack === "string";

const withoutStack = (value: unknown): unknown => (hasStack(value) ? value.message : value);

const stackOf = (value: unknown): string[] =>
  hasStack(value)
    ? value.stack
        .split("\n")
        .slice(1)
        .map((one) => `  ${harmless(one)}`)
    : [];

/** A text of strangers on one line, cut where it is long. */
export function shown(text: string, charactersAtMost: number): string {
  const safe = harmless(text.slice(0, charactersAtMost + 1));
  return safe.length > charactersAtMost ? `${safe.slice(0, charactersAtMost - 1)}…` : safe;
}

/** Requests of strangers are in logs: what would control the terminal is shown as its code. */
const harmless = (text: string): string =>
  text.replace(/\p{Cc}|\p{Cf}/gu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
