import { envNames, product } from "../../common/product.ts";
import { Secret } from "../../common/secret.ts";
import { child, isFull, type Place, refuse } from "./place.ts";
import {
  fields,
  filledText,
  isMapping,
  keysOf,
  type Reader,
  reads,
  writtenText,
} from "./readers.ts";
import { either, list, map } from "./schema.ts";
import { filledInAtMost, type Lookup } from "./substitution.ts";

/** Values that the caller gives beside the document; they win over the document's. */
export interface GivenVariables {
  readonly envs?: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
}

/** A stored secret that the task uses, and where it is to lie as a file. */
export interface ManagedSecret {
  readonly name: string;
  readonly mountPath: string | undefined;
}

/** The environment of a task. */
export interface Variables {
  readonly envs: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, Secret>>;
  /** Names of stored secrets that become variables of the same name. */
  readonly storedSecrets: readonly string[];
}

/** What a task writes before the name of a stored secret. */
export const storedPrefix = "secrets:";

/** A name that a shell knows. */
export const secretName = /^[A-Za-z_]\w*$/;

export const envsSchema = map({ type: ["string", "number", "boolean", "null"] });
export const secretsSchema = either(envsSchema, list(filledText.schema));

/** Reads `envs` and `secrets` of the task at `task`. */
export function readVariables(task: Place, given: GivenVariables): Variables {
  const envs = readValues(child(task, "envs"), given.envs ?? {}, "env");
  const { values, stored } = readSecrets(child(task, "secrets"), given.secrets ?? {});
  const secrets = Object.entries(values).map(([name, value]) => [name, new Secret(value)] as const);
  refuseHalfLogin(task, Object.keys(envs), [...Object.keys(values), ...stored]);
  return { envs, secrets: Object.fromEntries(secrets), storedSecrets: stored };
}

/**
 * What `$NAME` means outside of the service section: envs and secrets alike, secrets first. Notes at
 * the task when they fill in too much.
 */
export function lookupOf({ envs, secrets }: Variables, task: Place): Lookup {
  let filledIn = 0;
  return (name) => {
    const value = Object.hasOwn(secrets, name)
      ? secrets[name]?.reveal()
      : Object.hasOwn(envs, name)
        ? envs[name]
        : undefined;
    if (value === undefined || filledIn > filledInAtMost) return undefined;
    filledIn += value.length;
    if (filledIn > filledInAtMost)
      refuse(
        task,
        `its variables expand to more than ${filledInAtMost} characters; shorten their values`,
        "too_large",
      );
    return value;
  };
}

function readSecrets(
  place: Place,
  given: Readonly<Record<string, string>>,
): { values: Record<string, string>; stored: string[] } {
  if (Array.isArray(place.value)) {
    const stored = place.value.map((_, at) => storedName(child(place, at)));
    return { values: { ...given }, stored: stored.filter((name) => name !== undefined) };
  }
  const keys = isMapping(place.value) ? Object.keys(place.value) : [];
  const references = keys.filter((key) => key.startsWith(storedPrefix));
  for (const key of references)
    if (child(place, key).value !== null)
      refuse(child(place, key), "refers to a stored secret; leave its value empty");
  const names = references.map((key) => key.slice(storedPrefix.length)).filter(isName);
  return { values: readValues(place, given, "secret"), stored: names };
}

const storedName: Reader<string> = (place) => {
  const { value } = place;
  const name = typeof value === "string" ? value.slice(storedPrefix.length) : "";
  if (typeof value === "string" && value.startsWith(storedPrefix) && isName(name)) return name;
  return refuse(place, "must refer to a stored secret, `secrets:NAME`; or write a mapping");
};

function readValues(
  place: Place,
  given: Readonly<Record<string, string>>,
  kind: "env" | "secret",
): Record<string, string> {
  if (place.value === undefined || place.value === null) return { ...given };
  const values = new Map<string, string>();
  for (const name of keysOf(place) ?? []) {
    if (isFull(place)) break;
    const value = readValue(child(place, name), name, given, kind);
    if (value !== undefined) values.set(name, value);
  }
  return { ...Object.fromEntries(values), ...given };
}

function readValue(
  place: Place,
  name: string,
  given: Readonly<Record<string, string>>,
  kind: "env" | "secret",
): string | undefined {
  if (kind === "secret" && name.startsWith(storedPrefix)) {
    if (!isName(name.slice(storedPrefix.length))) refuse(place, notAName);
    return undefined;
  }
  if (!isName(name)) return refuse(place, notAName);
  if (Object.hasOwn(given, name)) return undefined;
  if (place.value !== null) return writtenText(place);
  const ways = {
    env: `pass \`--env ${name}=VALUE\`, or \`--env ${name}\` to use the value in your environment`,
    secret: `pass \`--secret ${name}\` to use the value in your environment, or store it with \`${product.word} secrets set ${name}\` and write \`secrets:${name}\` here`,
  };
  return refuse(place, `has no value; ${ways[kind]}`, "missing");
}

const notAName =
  "must be a valid name of a shell variable: letters, digits and _, not starting with a digit";
const isName = (name: string) => secretName.test(name);

/** User, password and server of a container registry only mean something together. */
function refuseHalfLogin(task: Place, envs: readonly string[], secrets: readonly string[]): void {
  const parts = ["USERNAME", "PASSWORD", "SERVER"].map((part) => envNames(`DOCKER_${part}`));
  for (const index of parts[0]?.keys() ?? []) {
    const names = parts.map((part) => part[index] ?? "");
    const inEnvs = names.filter((name) => envs.includes(name)).length;
    const inSecrets = names.filter((name) => secrets.includes(name)).length;
    if (inEnvs + inSecrets === 0 || inEnvs === names.length || inSecrets === names.length) continue;
    const section = child(task, inSecrets > 0 ? "secrets" : "envs");
    refuse(
      section,
      `needs all of ${names.join(", ")}, in the same section, to log in to a registry`,
    );
  }
}

const file = fields({ mount_path: filledText });
const managedSchema = either(filledText.schema, map({ ...file.schema, required: ["mount_path"] }));

/** An entry of `managed_secrets`: a name, or a name with the path of the file that it becomes. */
export const managedSecret = reads<ManagedSecret>(managedSchema, (place) => {
  if (!isMapping(place.value)) {
    const name = filledText(place);
    return name === undefined ? undefined : { name, mountPath: undefined };
  }
  const [name, ...others] = Object.keys(place.value);
  if (name === undefined || others.length > 0)
    return refuse(place, "must be one name, or one name with its `mount_path`");
  const { mount_path } = file(child(place, name)) ?? {};
  if (mount_path === undefined)
    return refuse(child(place, name), "needs `mount_path`, where the file is to lie", "missing");
  return { name, mountPath: mount_path };
});
