import { fail } from "../../common/errors.ts";
import { SshNodePoolConfig } from "../../contract/records/ssh-node-pools.ts";

/** One host of a pool's document, with what it takes over from its pool. */
export interface HostEntry {
  readonly name: string;
  readonly user?: string | undefined;
  readonly identity_file?: string | undefined;
  readonly password?: string | undefined;
  readonly port?: number | undefined;
  readonly proxy_jump?: string | undefined;
  readonly host_key?: string | undefined;
  readonly drain?: boolean | "now" | undefined;
}

const poolName = /^[A-Za-z0-9][\w.-]{0,62}$/;
/** Nothing that a program could take for an option. */
const hostName = /^[A-Za-z0-9_:[][\w.:%[\]-]*$/;
/** Stands for a password that is kept; whoever sends it back leaves the password as it is. */
const mask = "********";

/** The pools of a document by name; throws `ValueError` that names the place. */
export function readPools(document: unknown): Map<string, SshNodePoolConfig> {
  if (typeof document !== "object" || document === null)
    fail("ValueError", "the body must map names of pools to their configurations");
  return new Map(Object.entries(document).map(([name, config]) => [name, readPool(name, config)]));
}

function readPool(name: string, config: unknown): SshNodePoolConfig {
  if (!poolName.test(name))
    fail("ValueError", `${name} cannot name a pool; use letters, digits and . _ -`);
  const parsed = SshNodePoolConfig.safeParse(config ?? {});
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    fail("ValueError", `pool ${name}: ${issue?.path.join(".") || "it"}: ${issue?.message}`);
  }
  const names = entriesOf(parsed.data).map((entry) => entry.name);
  for (const [index, host] of names.entries()) {
    if (!hostName.test(host)) fail("ValueError", `pool ${name}: ${host} cannot name a host`);
    if (names.indexOf(host) < index) fail("ValueError", `pool ${name} has the host ${host} twice`);
  }
  return parsed.data;
}

/** The hosts of a pool. One that is only a text may say its user: `ana@10.0.0.1`. */
export function entriesOf({ hosts = [], ...pool }: SshNodePoolConfig): HostEntry[] {
  const { user, identity_file, password, port, proxy_jump } = pool;
  const shared = { user, identity_file, password, port, proxy_jump };
  return hosts.map((host) => {
    if (typeof host !== "string") return { ...shared, ...withoutUndefined(host), name: host.ip };
    const at = host.lastIndexOf("@");
    return { ...shared, ...(at > 0 && { user: host.slice(0, at) }), name: host.slice(at + 1) };
  });
}

const withoutUndefined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;

/** A pool as it may be shown. */
export const masked = (config: SshNodePoolConfig): SshNodePoolConfig =>
  mapPasswords(config, () => mask);

/** A pool that was sent back with masks, its passwords as they were. */
export function unmasked(config: SshNodePoolConfig, before: SshNodePoolConfig): SshNodePoolConfig {
  const kept = new Map(entriesOf(before).map(({ name, password }) => [name, password]));
  return mapPasswords(config, (password, host) => {
    if (password !== mask) return password;
    return host === undefined ? before.password : kept.get(host);
  });
}

/** The same pool with other passwords: its own, and those of hosts. */
function mapPasswords(
  config: SshNodePoolConfig,
  map: (password: string, host?: string) => string | undefined,
): SshNodePoolConfig {
  const mapped = <T extends { password?: string | undefined }>(one: T, host?: string): T =>
    one.password === undefined
      ? one
      : withoutUndefined({ ...one, password: map(one.password, host) });
  const { hosts } = config;
  return {
    ...mapped(config),
    ...(hosts && {
      hosts: hosts.map((host) => (typeof host === "string" ? host : mapped(host, host.ip))),
    }),
  };
}
