import type * as z from "zod";
import { fail } from "./errors.ts";
import { product } from "./product.ts";

/**
 * Reads a program's settings from the environment. Each field is named as its variable without the
 * product's prefix (`LOG_LEVEL` has none). A variable of ours that nobody knows is refused by name.
 */
export function readSettings<Shape extends z.ZodObject>(
  shape: Shape,
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[] = [],
): z.output<Shape> {
  const fields = Object.keys(shape.shape);
  const names = new Map(fields.map((field) => [settingName(field), field]));
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const field = names.get(name);
    if (field !== undefined && value !== undefined && value !== "") given[field] = value;
    if (field === undefined && name.startsWith(prefix) && !known.includes(name))
      fail(
        "ConfigError",
        `unknown setting ${name}; expected one of ${[...names.keys()].join(", ")}`,
      );
  }
  const parsed = shape.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0] ?? "");
  fail("ConfigError", `${settingName(field)}: ${issue?.message ?? "not valid"}`);
}

const prefix = `${product.word.toUpperCase()}_`;

/** The variable of a setting: `longAtOnce` is `OUTRIGGER_LONG_AT_ONCE`, `logLevel` `LOG_LEVEL`. */
export function settingName(field: string): string {
  const name = field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return name === "LOG_LEVEL" ? name : `${prefix}${name}`;
}

/** The variables of these names that are set. */
export function pickSet(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const found = names.map((name) => [name, env[name]] as const);
  return Object.fromEntries(
    found.filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}
