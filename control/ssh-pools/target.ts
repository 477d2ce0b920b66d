import { isAbsolute, join } from "node:path";
import { AppError, errorCodeOf, fail } from "../../common/errors.ts";
import { readNamed } from "../../common/files.ts";
import { Secret } from "../../common/secret.ts";
import type { SshKey, SshTarget } from "../doors/ssh/target.ts";
import type { HostEntry } from "./document.ts";
import { atHome, sshConfigOf } from "./ssh-config.ts";

const largestKeyBytes = 64 * 1024;

/** Where the keys of this control plane are. */
export interface Keyring {
  readonly keyFolder: string;
  /** The socket of the SSH agent that control was started with. */
  readonly agentSocket: string | null;
}

/**
 * How to log in on a host: as its entry says, then as the SSH configuration of control's user. Throws
 * `ConfigError` when the key is not there.
 */
export async function resolveTarget(entry: HostEntry, keyring: Keyring): Promise<SshTarget> {
  const config = await sshConfigOf(entry.name);
  // A rule for every host is also one for the host that it names.
  const usual = config.proxyJump?.includes(entry.name) ? null : config.proxyJump;
  const jumps = entry.proxy_jump ?? usual;
  return {
    address: config.hostname,
    port: entry.port ?? config.port,
    user: entry.user ?? config.user,
    ...(await credentialsOf(entry, config.identityFiles, keyring)),
    hostKey: entry.host_key ?? null,
    jump: jumps === null ? null : await resolveJump(jumps, entry, keyring),
  };
}

/** A named key alone; otherwise whatever this machine has. */
async function credentialsOf(
  { name, identity_file: file, password }: HostEntry,
  usualFiles: readonly string[],
  { keyFolder, agentSocket }: Keyring,
): Promise<Pick<SshTarget, "keys" | "agentSocket" | "password">> {
  const secret = password === undefined ? null : new Secret(password);
  if (file === undefined) {
    const keys = usualFiles.flatMap((one) => findUsualKey(atHome(one)) ?? []);
    return { keys, agentSocket, password: secret };
  }
  const path = file.includes("/") ? atHome(file) : join(keyFolder, file);
  const key = isAbsolute(path) ? findNamedKey(name, path) : undefined;
  if (key === undefined)
    fail(
      "ConfigError",
      `host ${name}: control has no key ${file}; upload it, or name its path there`,
    );
  return { keys: [key], agentSocket: null, password: secret };
}

/** Throws `ValueError` for what is there and cannot be a key. */
function findKey(path: string): SshKey | undefined {
  try {
    const text = readNamed(path, { mostBytes: largestKeyBytes }).toString();
    return { name: path, text: new Secret(text) };
  } catch (error) {
    if (["ENOENT", "EACCES", "EISDIR"].includes(errorCodeOf(error) ?? "")) return undefined;
    throw error;
  }
}

function findNamedKey(host: string, path: string): SshKey | undefined {
  try {
    return findKey(path);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return fail("ConfigError", `host ${host}: ${error.message}; name the file of a private key`);
  }
}

/** `IdentityFile /dev/null` is how a configuration says that there is no key. */
function findUsualKey(path: string): SshKey | undefined {
  try {
    return findKey(path);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** `a,b` goes through a to b: b is the nearest, and is itself behind a. */
async function resolveJump(text: string, entry: HostEntry, keyring: Keyring): Promise<SshTarget> {
  const hops = text.split(",").map((hop) => /^(?:(.+)@)?([^@]+?)(?::(\d+))?$/.exec(hop.trim()));
  let behind: SshTarget | null = null;
  for (const hop of hops) {
    const [, user, name, port] = hop ?? [];
    if (name === undefined || name.startsWith("-"))
      fail("ConfigError", `host ${entry.name}: proxy_jump takes [user@]host[:port], not ${text}`);
    const { identity_file, password } = entry;
    const own: HostEntry = { name, identity_file, password, ...(user && { user }) };
    const target = await resolveTarget({ ...own, ...(port && { port: Number(port) }) }, keyring);
    behind = { ...target, jump: behind ?? target.jump };
  }
  return behind ?? fail("ConfigError", `host ${entry.name}: proxy_jump is empty`);
}
