import { endFoundBy } from "../../common/end-processes.ts";
import { findBearers, findTree, type Tree } from "../../common/process-tree.ts";
import { envOf, product } from "../../common/product.ts";
import { nodeProgram, programArgs } from "../../common/programs.ts";
import type { JobSidecar } from "../../contract/agent-shapes.ts";
import { setAside } from "../aside.ts";

/**
 * Ends the sidecar of a job, which answers what is under way, and only then asks what it wraps to end. One that takes
 * longer is killed.
 */
export async function endSidecar(
  { key }: JobSidecar,
  tree: Tree,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const look = () => {
    const withKey = new Set(findBearers(`${keyName}=${key}`).map(({ pid }) => pid));
    return findTree(tree).filter(({ pid }) => withKey.has(pid));
  };
  await endFoundBy(look, graceMs, signal);
}

type Env = Readonly<Record<string, string>>;

/** How a script is started behind something. */
export interface Wrapped {
  /** The words before those that run it: a program, and its arguments up to where it is named. */
  readonly through: readonly string[];
  readonly env: Env;
}

/** Where the sidecar finds the key; what it wraps does not. */
const keyName = `${product.word}_REPLICA_KEY`.toUpperCase();
const isForLoader = (name: string): boolean => /^(NODE|LD)_\w+$/.test(name);

/** What a script behind a sidecar sees: the port that it is to serve on. */
export const portVariables = ({ serverPort }: JobSidecar): Env => {
  const port = String(serverPort);
  return { PORT: port, ...envOf("REPLICA_PORT", port) };
};

/**
 * Wraps a script in a sidecar, whose key it does not see. The sidecar writes no access log: whoever balances
 * between replicas has one already.
 */
export function wrapScript({ listen, serverPort, key }: JobSidecar, given: Wrapped): Wrapped {
  const { env, restore } = setAside(given.env, isForLoader);
  const flags = {
    listen: addressOf(listen),
    "command-port": String(serverPort),
    "key-env": keyName,
    "access-log": "off",
    "log-level": "warn",
  };
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  // Who is let in is the balancer, which says whom it speaks for, or has the key anyhow.
  words.push("--trust-forwarded");
  // What its server does not answer another replica may.
  words.push("--break-off");
  const restored = ["--", "/bin/sh", "-c", `unset ${keyName}\n${restore}\nexec "$@"`, "sh"];
  return {
    through: [nodeProgram, ...programArgs("sidecar"), ...words, ...restored, ...given.through],
    env: { ...env, [keyName]: key },
  };
}

const addressOf = ({ host, port }: JobSidecar["listen"]): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
