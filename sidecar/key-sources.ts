import { readFileSync, statSync } from "node:fs";
import { errorCodeOf, fail, toAppError } from "../common/errors.ts";
import type { Log } from "../common/log.ts";
import { openTurns } from "../common/turns.ts";
import { parseKeys } from "./key-file.ts";
import type { Key } from "./keys.ts";

/** Where keys come from: names of variables, files, and keys themselves. */
export interface KeySources {
  readonly keyEnv: readonly string[];
  readonly keyFile: readonly string[];
  readonly key: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the keys of all sources. Throws `ConfigError` when one cannot be read, or there is none. */
export function readKeys({ keyEnv, keyFile, key }: KeySources, env: Env): Key[] {
  const keys = [
    ...keyEnv.flatMap((name) => parseKeys(readVariable(env, name), name)),
    ...keyFile.flatMap((file) => parseKeys(readKeyFile(file), file)),
    ...key.flatMap((text, index) => parseKeys(text, `literal-${index + 1}`)),
  ];
  if (keys.length === 0)
    fail("ConfigError", "no key is configured; give one with --key-env or --key-file");
  return keys;
}

const readVariable = (env: Env, name: string): string =>
  env[name] || fail("ConfigError", `the variable ${name} holds no key; set it or use --key-file`);

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    fail("ConfigError", `the key file ${file} cannot be read: ${errorCodeOf(error)}`);
  }
}

const lookEveryMs = 250;

/** Keys that follow their sources. */
export interface Following {
  /** How many there are now. */
  readonly count: number;
  /** Reads the sources again. */
  reload(): void;
  stop(): void;
}

/**
 * Has `use` accept the keys of the sources: reads them now, again on `reload`, and whenever a file has changed; each
 * time is logged once the keys are in use. Throws `ConfigError` when they cannot be used now; later on, the keys
 * before stay in use.
 */
export async function followKeys(
  use: (keys: readonly Key[]) => Promise<void>,
  sources: KeySources,
  env: Env,
  log: Pick<Log, "info" | "error">,
): Promise<Following> {
  let seen = "";
  let count = 0;
  async function read(): Promise<void> {
    // Looked at first: what changes while it is read will look changed.
    seen = stampsOf(sources);
    const keys = readKeys(sources, env);
    await use(keys);
    count = keys.length;
  }
  const again = () =>
    read().then(
      () => log.info({ keys: count }, "keys read again"),
      (error) => log.error({ reason: toAppError(error).message }, "the previous keys stay in use"),
    );
  const inTurn = openTurns(1);
  await inTurn(read);
  const reload = () => void inTurn(again);
  // A look finds also what a watch does not: files swapped through links, or on other machines.
  const look = () => {
    if (stampsOf(sources) !== seen) reload();
  };
  const looking = setInterval(look, lookEveryMs).unref();
  return {
    get count() {
      return count;
    },
    reload,
    stop: () => clearInterval(looking),
  };
}

const stampsOf = ({ keyFile }: KeySources): string => keyFile.map(stampOf).join();

/** The time of its last change tells also of a file that may be read only now: its mtime does not. */
function stampOf(file: string): string {
  try {
    const { ino, ctimeNs, size } = statSync(file, { bigint: true });
    return `${ino} ${ctimeNs} ${size}`;
  } catch (error) {
    return String(errorCodeOf(error));
  }
}
