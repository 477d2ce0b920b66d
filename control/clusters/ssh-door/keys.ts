import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { utils } from "ssh2";
import { errorCodeOf } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import type { ClusterStatusRecord } from "../../../contract/records/clusters.ts";
import type { Context } from "../../context.ts";

type Credentials = NonNullable<ClusterStatusRecord["credentials"]>;

/** A private key and its public half, as OpenSSH writes them. */
export interface KeyPair {
  readonly privateText: string;
  readonly publicText: string;
}

/** The keys of a home: one proves that control answers, the other lets a user in. */
export interface DoorKeys {
  readonly host: KeyPair;
  readonly user: KeyPair;
}

/** The keys of this home, made when they are first needed. */
export const readKeys = async (config: Pick<Context["config"], "home">): Promise<DoorKeys> => ({
  host: await keyPair(config, "host"),
  user: await keyPair(config, "user"),
});

async function keyPair({ home }: Pick<Context["config"], "home">, name: string): Promise<KeyPair> {
  const { default: ssh2 } = await import("ssh2");
  const folder = join(home, "control", "ssh-door");
  const file = join(folder, `${name}.json`);
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (errorCodeOf(error) !== "ENOENT") throw error;
  }
  // Nothing is awaited from here on: others who need the pair find this one.
  const pair = makePair(ssh2.utils);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, JSON.stringify(pair), { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
  return pair;
}

/** One pair in 256 lacks its first byte, which is zero, and cannot be read. */
function makePair({ generateKeyPairSync, parseKey }: typeof utils): KeyPair {
  for (;;) {
    const { private: privateText, public: publicText } = generateKeyPairSync("ed25519");
    const isWhole = [privateText, publicText].every((text) => !(parseKey(text) instanceof Error));
    if (isWhole) return { privateText, publicText };
  }
}

/**
 * What a client needs to log in at the door of control; undefined where the keys can be neither read nor
 * made, as on a full disk.
 */
export async function sshCredentials({
  config,
  log,
}: Pick<Context, "config" | "log">): Promise<Credentials | undefined> {
  try {
    const { host, user } = await readKeys(config);
    return {
      ssh_user: product.word,
      ssh_private_key: null,
      ssh_private_key_content: user.privateText,
      ssh_host_key: host.publicText,
      ssh_control_name: product.word,
      ssh_proxy_command: null,
    };
  } catch (error) {
    log.warn({ err: error }, "the keys for SSH cannot be had");
  }
}
