import { fail } from "../../common/errors.ts";
import type { Secret } from "../../common/secret.ts";

/** What a name stands for in `$NAME` and `${NAME}`; undefined leaves the text as it is. */
export type Lookup = (name: string) => string | undefined;

/**
 * A value whose texts may refer to secrets. It never holds a secret itself, so it may be stored;
 * `fillTemplate` gives the value at the point of use.
 */
export interface Template<T> {
  readonly template: T;
}

/** Characters that references may be replaced by, in all: a short text can name a long value very often. */
export const filledInAtMost = 1024 * 1024;

const references = /\$\$|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\$/g;

/** The value with `$NAME` and `${NAME}` filled in, in every text inside it; `$$` is a dollar sign. */
export function substitute<T>(value: T, lookup: Lookup): T {
  return mapTexts(value, (text) => substituteText(text, lookup));
}

/** As `substitute`, for one text. */
export function substituteText(text: string, lookup: Lookup): string {
  return text.replace(references, (match: string, braced?: string, bare?: string) => {
    const name = braced ?? bare;
    if (name === undefined) return match === "$$" ? "$" : match;
    return lookup(name) ?? match;
  });
}

/** Fills in what `lookup` knows and keeps the names in `secrets` as references. */
export function toTemplate<T>(value: T, lookup: Lookup, secrets: ReadonlySet<string>): Template<T> {
  return { template: mapTexts(value, (text) => keepReferences(text, lookup, secrets)) };
}

/** In a template a reference is always `${NAME}`, and every dollar sign that is none is doubled. */
function keepReferences(text: string, lookup: Lookup, secrets: ReadonlySet<string>): string {
  return text.replace(references, (match: string, braced?: string, bare?: string) => {
    const name = braced ?? bare;
    if (name === undefined) return "$$";
    if (secrets.has(name)) return `\${${name}}`;
    return (lookup(name) ?? match).replaceAll("$", "$$$$");
  });
}

/** The value of a template, secrets filled in. Throws `ValueError` for a secret that is not given. */
export function fillTemplate<T>(
  { template }: Template<T>,
  secrets: Readonly<Record<string, Secret>>,
): T {
  let filledIn = 0;
  return substitute(template, (name) => {
    const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
    if (secret === undefined)
      fail("ValueError", `the secret ${name} has no value; add it to the task`);
    const value = secret.reveal();
    filledIn += value.length;
    if (filledIn > filledInAtMost) fail("ValueError", "secrets make the service section too large");
    return value;
  });
}

/** The same value with every text inside it replaced; the keys of mappings stay. */
function mapTexts<T>(value: T, replace: (text: string) => string): T {
  return mapped(value, replace) as T;
}

function mapped(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return value.map((item) => mapped(item, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapped(item, replace)]),
  );
}
