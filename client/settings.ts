import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fail } from "../common/errors.ts";
import { envNames, product } from "../common/product.ts";
import { Secret } from "../common/secret.ts";
import { systemUser } from "../common/system-user.ts";
import { type Context, getContext, homeContext, readContexts } from "./contexts.ts";
import { addressOf, findControl } from "./control-process.ts";
import { readEndpoint } from "./endpoint.ts";
import { refuseUnknownVariables } from "./unknown-variables.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** Where a value comes from: `name` is the flag, the variable, the context or the file that gave it. */
export interface Origin {
  readonly kind: "flag" | "environment" | "context" | "home" | "default";
  readonly name: string | null;
}

/** What the client reads from its command line, its environment and its home. */
export interface Settings {
  /** Name of the context in use; `default` stands for the control plane of the home. */
  readonly context: string;
  /** Address of the control plane, without a slash at the end. */
  readonly endpoint: string;
  /** Folder of the control plane that `api start` starts, and of the contexts. */
  readonly home: string;
  /** What lets us in at `endpoint`, where that is given. */
  readonly token: Secret | undefined;
  /** The file that holds it instead. */
  readonly tokenFile: string | undefined;
  /** Where launches go; undefined lets control choose. */
  readonly workspace: string | undefined;
  readonly userName: string;
  /** Whether commands that need the home's control plane start it. */
  readonly autostart: "on" | "off";
  readonly origins: Readonly<Record<SettingName, Origin>>;
}

export type SettingName = Exclude<keyof Settings, "origins">;

/** What the command line says before any variable does. */
export interface Flags {
  readonly context?: string | undefined;
  readonly workspace?: string | undefined;
  /** Show results and errors only. */
  readonly quiet?: boolean | undefined;
}

export const defaultPort = 46_580;

/** A value, and where it comes from. */
type Given<T> = readonly [value: T, origin: Origin];

const byDefault: Origin = { kind: "default", name: null };

/**
 * Reads the settings: a flag before the environment before the context before the default. Throws
 * `ConfigError` for a variable of ours that nobody knows, and for what is not valid; `NotFoundError` for
 * a context that is not there.
 */
export function readSettings(env: Env, flags: Flags = {}): Settings {
  refuseUnknownVariables(env);
  const place = readHome(env);
  const chosen = chosenContext(env, flags, place);
  const endpoint = endpointOf(env, chosen, place);
  const values = {
    ...{
      context: [chosen.name, chosen.origin] as const,
      home: [place.home, place.origin] as const,
    },
    ...{ endpoint, ...credentialsOf(env, chosen, endpoint) },
    workspace: workspaceOf(env, flags, chosen),
    userName: given(env, "USER") ?? userOf(env),
    autostart: autostartIn(env),
  };
  const pick = <T>(index: 0 | 1) =>
    Object.fromEntries(Object.entries(values).map(([name, pair]) => [name, pair[index]])) as T;
  return { ...pick<Settings>(0), origins: pick<Settings["origins"]>(1) };
}

/** The folder that the settings lie in, read without them. */
export function readHome(env: Env): { readonly home: string; readonly origin: Origin } {
  const usual: Given<string> = [join(env["HOME"] ?? homedir(), `.${product.word}`), byDefault];
  const [folder, origin] = given(env, "HOME") ?? usual;
  return { home: resolve(folder), origin };
}

interface Chosen {
  readonly name: string;
  readonly origin: Origin;
  /** Undefined for the control plane of the home. */
  readonly context: Context | undefined;
  /** A flag names it, which wins over variables. */
  readonly isForced: boolean;
}

function chosenContext(env: Env, flags: Flags, place: { readonly home: string }): Chosen {
  const contexts = readContexts(place);
  const flag: Given<string> | undefined =
    flags.context === undefined ? undefined : [flags.context, { kind: "flag", name: "--context" }];
  const current: Given<string> | undefined =
    contexts.current === undefined
      ? undefined
      : [contexts.current, { kind: "home", name: join(place.home, "config.json") }];
  const [name, origin] = flag ?? given(env, "CONTEXT") ?? current ?? [homeContext, byDefault];
  const isForced = flag !== undefined;
  const context = name === homeContext ? undefined : getContext(contexts, name, origin.name ?? "");
  return { name, origin, context, isForced };
}

function endpointOf(
  env: Env,
  { name, context, isForced }: Chosen,
  place: { readonly home: string },
): Given<string> {
  const variable = isForced ? undefined : given(env, "ENDPOINT");
  if (variable !== undefined)
    return [readEndpoint(variable[0], variable[1].name ?? ""), variable[1]];
  if (context !== undefined) return [context.endpoint, { kind: "context", name }];
  const running = findControl(place);
  const address = running && addressOf(running);
  if (address !== undefined) return [address, { kind: "home", name: place.home }];
  return usualEndpoint(env);
}

/** Where control will listen once it is started here. */
function usualEndpoint(env: Env): Given<string> {
  const [hostName = "", portName = ""] = ["HOST", "PORT"].map((suffix) => envNames(suffix)[0]);
  const host = env[hostName] || "127.0.0.1";
  const port = Number(env[portName]) || defaultPort;
  const address = addressOf({ host: host === "localhost" ? "127.0.0.1" : host, port });
  const name = [portName, hostName].find((variable) => env[variable]);
  const origin: Origin = name === undefined ? byDefault : { kind: "environment", name };
  return [readEndpoint(address ?? "", name ?? ""), origin];
}

/** A token goes to the endpoint that it was given with, and not to one that a flag names instead. */
function credentialsOf(env: Env, chosen: Chosen, [, { kind }]: Given<string>) {
  const variable = chosen.isForced ? undefined : given(env, "TOKEN");
  const isOfContext = kind === "context" && variable === undefined;
  const token: Given<Secret | undefined> = variable
    ? [new Secret(variable[0].trim()), variable[1]]
    : [undefined, byDefault];
  const file = isOfContext ? chosen.context?.tokenFile : undefined;
  return { token, tokenFile: ofContext(chosen, file) };
}

/** A flag is before variables, and variables before a context, unless a flag names that. */
function workspaceOf(env: Env, { workspace }: Flags, chosen: Chosen): Given<string | undefined> {
  if (workspace !== undefined) return [workspace, { kind: "flag", name: "--workspace" }];
  const variable = chosen.isForced ? undefined : given(env, "WORKSPACE");
  return variable ?? ofContext(chosen, chosen.context?.workspace);
}

const ofContext = ({ name }: Chosen, value: string | undefined): Given<string | undefined> =>
  value === undefined ? [undefined, byDefault] : [value, { kind: "context", name }];

function userOf(env: Env): Given<string> {
  const user = env["USER"];
  return user === undefined
    ? [systemUser().name, byDefault]
    : [user, { kind: "environment", name: "USER" }];
}

/** Off in a job and in continuous integration, where what was started would go on unseen, or end with it. */
function autostartIn(env: Env): Given<"on" | "off"> {
  const said = given(env, "AUTOSTART");
  if (said !== undefined) {
    const [value, origin] = said;
    if (value !== "on" && value !== "off") fail("ConfigError", `${origin.name}: must be on or off`);
    return [value, origin];
  }
  const [jobFolder = ""] = envNames("JOB_FOLDER");
  const name = [jobFolder, "CI"].find((one) => !["", "0", "false"].includes(env[one] ?? ""));
  return name === undefined ? ["on", byDefault] : ["off", { kind: "environment", name }];
}

/** Whether commands go to the control plane of the home, because nothing names another one. */
export function isOfHome({ origins: { endpoint } }: Settings): boolean {
  if (endpoint.kind === "environment") return !envNames("ENDPOINT").includes(endpoint.name ?? "");
  return endpoint.kind !== "context";
}

/** The variable under the first of its names that is set to something. */
function given(env: Env, suffix: string): Given<string> | undefined {
  for (const name of envNames(suffix)) {
    const value = env[name];
    if (value?.trim()) return [value, { kind: "environment", name }];
  }
  return undefined;
}
