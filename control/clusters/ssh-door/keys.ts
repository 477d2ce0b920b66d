import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { utils } from "ssh2";
import * as z from "zod";
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
  // Nothing is awaited from here on: others who need the pair find this one.
  const known = existsSync(file) ? parseOnce(readFileSync(file, "utf8"), ssh2.utils) : undefined;
  if (known !== undefined) return known;
  const pair = makePair(ssh2.utils);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, JSON.stringify(pair), { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
  return pair;
}

/** Pairs that were found whole, by their text: each answer of `/status` has one. */
const parsed = new Map<string, KeyPair>();
const parsedAtMost = 4;

function parseOnce(text: string, ssh: Pick<typeof utils, "parseKey">): KeyPair | undefined {
  const pair = parsed.get(text) ?? parsePair(text, ssh);
  if (parsed.size >= parsedAtMost) parsed.clear();
  if (pair !== undefined) parsed.set(text, pair);
  return pair;
}

/** Undefined for a pair that nobody can use: it is made anew. */
function parsePair(text: string, ssh: Pick<typeof utils, "parseKey">): KeyPair | undefined {
  try {
    const pair = StoredPair.parse(JSON.parse(text));
    return isWhole(pair, ssh) ? pair : undefined;
  } catch {
    // What was wrong with the text might quote the key.
    return undefined;
  }
}

const StoredPair = z.object({ privateText: z.string(), publicText: z.string() });

/**
 * A new pair that can be read. ssh2 drops zeros that a public key begins with, so one pair in 256 is too
 * short: a server with such a key closes every connection before its handshake.
 */
export function makePair(ssh: Pick<typeof utils, "generateKeyPairSync" | "parseKey">): KeyPair {
  for (;;) {
    const { private: privateText, public: publicText } = ssh.generateKeyPairSync("ed25519");
    const pair = { privateText, publicText };
    if (isWhole(pair, ssh)) return pair;
  }
}

const isWhole = (pair: KeyPair, { parseKey }: Pick<typeof utils, "parseKey">): boolean =>
  [pair.privateText, pair.publicText].every((text) => !(parseKey(text) instanceof Error));

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
    log.warn({ err: error }, "the SSH keys cannot be read");
  }
}
