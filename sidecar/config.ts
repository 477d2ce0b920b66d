import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { AppError, errorCodeOf, fail, messageOf } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { hintOf } from "../contract/spelling.ts";
import { errorStyles } from "./forward/answers.ts";
import {
  address,
  choice,
  cores,
  count,
  list,
  port,
  type Setting,
  seconds,
  text,
  toggle,
} from "./settings.ts";

/**
 * Every setting of the sidecar, in the order of its help. Not of zod, as those of the other programs
 * are: that alone would cost a seventh of the memory that a sidecar may take, beside each replica.
 */
export const sidecarSettings = {
  listen: address({ host: "0.0.0.0", port: 8080 }, "Where clients connect."),
  upstream: address(undefined, "Address of the server; without it, a command is wrapped."),
  commandPort: port("Port that the command gets as $PORT; by default a free one."),
  keyEnv: list("NAME", "Variable that holds a key. Repeatable, like all lists."),
  keyFile: list("FILE", "Keys, one per line: KEY [id=] [expires=] [note=]; reloaded on change."),
  key: list("KEY", "A key itself, for tests: everyone on the machine can read it."),
  allowPath: list("PATH", "Paths open to GET and HEAD without a key, byte for byte."),
  stripAuthorization: toggle("Do not forward the Authorization header."),
  trustForwarded: toggle("Forward X-Forwarded-* of clients, and add to them."),
  breakOff: toggle("Close instead of answering 502, so that a proxy may retry elsewhere."),
  errorStyle: choice(
    errorStyles,
    "plain",
    'Body of refused requests: {"error":"Unauthorized"}, or the error object of the OpenAI API.',
  ),
  engine: choice(["splice", "http-proxy"], "splice", "What forwards."),
  metrics: address(undefined, "Address for GET /metrics and GET /healthz."),
  accessLog: text("FILE", "stderr", "Access log, one line per request; off disables it."),
  workers: cores(1, "Processes that share the port; auto for one for each available core."),
  connections: count(
    10_000,
    "Client connections open at the same time; further ones get 503. Workers share it.",
  ),
  headBytes: count(16_384, "Maximum size of a request head."),
  headCount: count(100, "Maximum number of request headers."),
  headSeconds: seconds(10, "Time limit for a whole request head."),
  idleSeconds: seconds(75, "Time limit for the next request on an idle connection."),
  stalledSeconds: seconds(60, "Time limit for a client that neither sends nor reads."),
  connectSeconds: seconds(5, "Time limit for connecting to the upstream."),
  upstreamSeconds: seconds(
    600,
    "Time limit for the upstream's next bytes, and for a silent WebSocket.",
  ),
  drainSeconds: seconds(
    20,
    "Time limit for open requests after a stop signal, then for the command.",
  ),
  logLevel: choice(["debug", "info", "warn", "error"], "info", "Minimum level that is logged."),
} as const;

type Settings = typeof sidecarSettings;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** What the sidecar is to do. */
export type Config = { readonly [Name in keyof Settings]: ValueOf<Settings[Name]> } & {
  /** What it wraps; empty when there is an upstream. */
  readonly command: readonly string[];
};

/** What holds without a setting, as the help says it. */
export function defaultOf(name: string): string {
  const fallback = sidecarSettings[name as keyof Settings].fallback;
  if (typeof fallback === "object" && "host" in fallback)
    return ` [${fallback.host}:${fallback.port}]`;
  return typeof fallback === "string" || typeof fallback === "number" ? ` [${fallback}]` : "";
}

type Env = Readonly<Record<string, string | undefined>>;
type Texts = Readonly<Record<string, readonly string[]>>;

const names = Object.keys(sidecarSettings) as (keyof Settings)[];
/** The flag of a setting: `headBytes` is `head-bytes`. */
export const flagOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter}`.toLowerCase());
const prefix = `${product.word}_sidecar_`.toUpperCase();
/** The variable of a setting: `headBytes` is `OUTRIGGER_SIDECAR_HEAD_BYTES`. */
export const variableOf = (name: string): string =>
  prefix + flagOf(name).replaceAll("-", "_").toUpperCase();

/**
 * Reads the settings: a flag before its variable before the file of `--config`. Undefined when help
 * is wanted. Throws `ConfigError` or `UsageError` naming what is wrong.
 */
export function readConfig(args: readonly string[], env: Env): Config | undefined {
  const { flags, file, command, wantsHelp } = readFlags(args);
  if (wantsHelp) return undefined;
  const given: Texts = { ...readFile(file), ...readVariables(env), ...flags };
  const values = names.map((name) => [name, readOne(name, given[name])]);
  const config = { ...Object.fromEntries(values), command } as Config;
  if ((config.upstream === undefined) === (command.length === 0))
    fail("UsageError", `give either --upstream HOST:PORT or -- COMMAND; ${wayOut}`);
  if (config.upstream !== undefined && config.commandPort !== undefined)
    fail("UsageError", "--command-port is for a command; --upstream HOST:PORT has a port already");
  return config;
}

function readOne(name: keyof Settings, texts: readonly string[] | undefined): unknown {
  const setting: Setting<unknown> = sidecarSettings[name];
  if (texts === undefined) return setting.fallback;
  try {
    return setting.read(texts);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    fail("ConfigError", `--${flagOf(name)} (${variableOf(name)}) ${error.message}`);
  }
}

function readFlags(args: readonly string[]) {
  const { values, positionals } = parse(args);
  const { help, config, ...rest }: Record<string, unknown> = values;
  const flags: Record<string, string[]> = {};
  for (const name of names) {
    const given = rest[flagOf(name)];
    if (given !== undefined) flags[name] = [given].flat().map(String);
  }
  const file = typeof config === "string" ? config : undefined;
  return { flags, file, command: positionals, wantsHelp: help === true };
}

const options = Object.fromEntries(
  names.map((name) => {
    const { word, isList } = sidecarSettings[name];
    const type = word === undefined ? ("boolean" as const) : ("string" as const);
    return [flagOf(name), { type, multiple: isList }];
  }),
);

function parse(args: readonly string[]) {
  // What follows `--` is the command's, whatever it looks like; before it nothing stands alone.
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  try {
    const { values } = parseArgs({
      args: [...own],
      options: { ...options, config: { type: "string" }, help: { type: "boolean", short: "h" } },
    });
    return { values, positionals: args.slice(own.length + 1) };
  } catch (error) {
    const message = messageOf(error);
    const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
    if (unknown === undefined) fail("UsageError", message);
    const flags = names.map((name) => `--${flagOf(name)}`);
    const hint = hintOf(`--${unknown}`, flags, wayOut);
    fail("UsageError", `unknown option '--${unknown}'; ${hint}`);
  }
}

const wayOut = `see ${product.word} sidecar --help`;

/** Variables hold lists with blanks between. One of ours that nobody knows is refused by name. */
function readVariables(env: Env): Texts {
  const known = new Map(names.map((name) => [variableOf(name), name]));
  const given: Record<string, string[]> = {};
  for (const [variable, value] of Object.entries(env)) {
    const name = known.get(variable);
    if (name !== undefined && value) given[name] = textsOf(name, value);
    if (name === undefined && variable.startsWith(prefix))
      fail(
        "ConfigError",
        `unknown setting ${variable}; expected one of ${[...known.keys()].join(", ")}`,
      );
  }
  return given;
}

const textsOf = (name: keyof Settings, value: string): string[] =>
  sidecarSettings[name].isList ? value.split(/\s+/).filter((one) => one !== "") : [value];

/** A file is one JSON object, its names those of the settings: `{ "keyFile": ["keys"] }`. */
function readFile(file: string | undefined): Texts {
  if (file === undefined) return {};
  const given: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(parseFile(file))) {
    if (!Object.hasOwn(sidecarSettings, name))
      fail(
        "ConfigError",
        `unknown setting ${name} in ${file}; expected one of ${names.join(", ")}`,
      );
    given[name] = [value].flat().map(String);
  }
  return given;
}

function parseFile(file: string): object {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof value === "object" && value !== null) return value;
  } catch (error) {
    const code = errorCodeOf(error);
    if (code !== undefined) fail("ConfigError", `the file ${file} cannot be read: ${code}`);
  }
  fail("ConfigError", `the file ${file} must hold one JSON object`);
}
