import { envOf, product } from "../../common/product.ts";
import { programArgs } from "../../common/programs.ts";
import type { JobSidecar } from "../../contract/agent-shapes.ts";

type Env = Readonly<Record<string, string>>;

/** How a script is started behind a sidecar. */
interface Wrapped {
  /** The words before those that run it: a program, and its arguments up to where it is named. */
  readonly through: readonly string[];
  readonly env: Env;
}

const ours = (suffix: string): string => `${product.word}_${suffix}`.toUpperCase();

/** Where the sidecar finds the key; what it wraps does not. */
const keyName = ours("REPLICA_KEY");
/** What would change how the sidecar itself runs waits under another name for whom it is meant. */
const isForLoader = (name: string): boolean => /^(NODE|LD)_\w+$/.test(name);
const asideOf = (name: string): string => ours(`ASIDE_${name}`);

/**
 * Wraps the script with this environment: it sees the port that it is to serve on, and not the key. The
 * sidecar writes no access log: whoever balances between replicas has one already.
 */
export function wrapScript({ listen, serverPort, key }: JobSidecar, given: Env): Wrapped {
  const port = String(serverPort);
  const aside = Object.keys(given).filter(isForLoader);
  const env = { ...given, PORT: port, ...envOf("REPLICA_PORT", port) };
  const renamed = Object.entries(env).map(([name, value]) =>
    aside.includes(name) ? [asideOf(name), value] : [name, value],
  );
  const flags = {
    listen: addressOf(listen),
    "command-port": port,
    "key-env": keyName,
    "access-log": "off",
    "log-level": "warn",
  };
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  // Who is let in is the balancer, which says whom it speaks for, or has the key anyhow.
  words.push("--trust-forwarded");
  // What its server does not answer another replica may.
  words.push("--break-off");
  const restored = ["--", "/bin/sh", "-c", restore(aside), "sh"];
  return {
    through: [process.execPath, ...programArgs("sidecar"), ...words, ...restored],
    env: { ...Object.fromEntries(renamed), [keyName]: key },
  };
}

const addressOf = ({ host, port }: JobSidecar["listen"]): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Gives the script the environment that is meant for it, and becomes it. */
const restore = (aside: readonly string[]): string =>
  [
    `unset ${keyName}`,
    ...aside.map((name) => `export ${name}="$${asideOf(name)}"; unset ${asideOf(name)}`),
    'exec "$@"',
  ].join("\n");
