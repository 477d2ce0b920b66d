import { readFileSync, statSync } from "node:fs";
import { errorCodeOf, fail, toAppError } from "../common/errors.ts";
import { parseKeys } from "./key-file.ts";
import type { Key, Keys } from "./keys.ts";
import type { Logger } from "./log.ts";

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

/**
 * Reads the sources again when told to, and whenever a file has changed. While one cannot be used,
 * the keys before hold on.
 */
export function watchKeys(
  keys: Keys,
  sources: KeySources,
  env: Env,
  log: Pick<Logger, "info" | "error">,
): { reload: () => void; stop: () => void } {
  let seen = sources.keyFile.map(stampOf).join();
  const reload = () => {
    seen = sources.keyFile.map(stampOf).join();
    try {
      keys.replace(readKeys(sources, env));
      log.info({ keys: keys.count }, "keys read again");
    } catch (error) {
      log.error({ reason: toAppError(error).message }, "keys stay as they were");
    }
  };
  // A look finds also what a watch does not: files swapped through links, or on other machines.
  const look = () => {
    if (sources.keyFile.map(stampOf).join() !== seen) reload();
  };
  const looking = setInterval(look, lookEveryMs).unref();
  return { reload, stop: () => clearInterval(looking) };
}

function stampOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}
