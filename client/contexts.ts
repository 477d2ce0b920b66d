import { join } from "node:path";
import { AppError, errorCodeOf, fail } from "../common/errors.ts";
import { readNamed, replaceFile } from "../common/files.ts";
import { readEndpoint } from "./endpoint.ts";

/** A control plane by name: where it is, and what calls to it carry. */
export interface Context {
  readonly endpoint: string;
  /** The file with the token that lets us in. */
  readonly tokenFile?: string;
  readonly workspace?: string;
}

/** What the configuration file holds. */
export interface Contexts {
  /** The context in use; undefined stands for the control plane of this home. */
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

/** The name that stands for no context: the control plane of this home. */
export const homeContext = "default";

const mostBytes = 1024 * 1024;
const mostContexts = 1_000;
const longestText = 4_096;

export const contextsFileOf = ({ home }: { readonly home: string }): string =>
  join(home, "config.json");

/** The contexts of a home; none when it has no file. Throws `ConfigError` for a file that is not valid. */
export function readContexts(home: { readonly home: string }): Contexts {
  const file = contextsFileOf(home);
  const text = readText(file);
  if (text === undefined) return { contexts: {} };
  const { current, contexts, ...others } = fieldsOf(parse(text, file), file);
  refuseOthers(others, file);
  const pairs = Object.entries(fieldsOf(contexts ?? {}, `${file}: contexts`));
  if (pairs.length > mostContexts)
    fail("ConfigError", `${file}: more than ${mostContexts} contexts`);
  const named = pairs.map(([name, value]) => [name, contextOf(value, `${file}: ${name}`)]);
  const known: Record<string, Context> = Object.fromEntries(named);
  const chosen = textOf(current, `${file}: current`);
  return { ...(chosen !== undefined && { current: chosen }), contexts: known };
}

/** Replaces the contexts of a home. */
export function writeContexts(home: { readonly home: string }, contexts: Contexts): void {
  const shown = Object.entries(contexts.contexts).map(([name, { tokenFile, ...context }]) => [
    name,
    { ...context, ...(tokenFile !== undefined && { token_file: tokenFile }) },
  ]);
  const text = JSON.stringify({ ...contexts, contexts: Object.fromEntries(shown) }, null, 2);
  replaceFile(contextsFileOf(home), `${text}\n`);
}

/** The context of a name; throws `NotFoundError` that names those there are. */
export function getContext({ contexts }: Contexts, name: string, wayIn: string): Context {
  const known = [homeContext, ...Object.keys(contexts)].join(", ");
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  return (
    found ??
    fail("NotFoundError", `${wayIn}: no context is named ${name}; expected one of ${known}`)
  );
}

/** Throws `UsageError` for a name that a context cannot have. */
export function checkName(name: string): void {
  if (name === homeContext)
    fail("UsageError", `${homeContext} is reserved for the control plane of your home`);
  if (!/^[A-Za-z0-9][\w.-]{0,62}$/.test(name))
    fail(
      "UsageError",
      `${name}: a context's name has up to 63 letters, digits, \`-\`, \`_\`, \`.\``,
    );
}

function contextOf(value: unknown, place: string): Context {
  const { endpoint, token_file, workspace, ...others } = fieldsOf(value, place);
  refuseOthers(others, place);
  const [tokenFile, chosen] = [
    textOf(token_file, `${place}: token_file`),
    textOf(workspace, `${place}: workspace`),
  ];
  return {
    endpoint: readEndpoint(textOf(endpoint, `${place}: endpoint`) ?? "", `${place}: endpoint`),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(chosen !== undefined && { workspace: chosen }),
  };
}

function readText(file: string): string | undefined {
  try {
    return readNamed(file, { mostBytes }).toString();
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    const message = error instanceof AppError ? error.message : `cannot read ${file}`;
    return fail("ConfigError", message);
  }
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fail("ConfigError", `${file} is not JSON; correct it, or remove it to start anew`);
  }
}

function fieldsOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    fail("ConfigError", `${place}: expected an object`);
  return value as Readonly<Record<string, unknown>>;
}

function textOf(value: unknown, place: string): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === "string" && value !== "" && value.length <= longestText
    ? value
    : fail("ConfigError", `${place}: expected a text`);
}

function refuseOthers(others: object, place: string): void {
  const [name] = Object.keys(others);
  if (name !== undefined) fail("ConfigError", `${place}: unknown field ${name}`);
}
