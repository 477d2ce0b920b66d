import { bytesOf, equalsAnyCase } from "./bytes.ts";

/** A key that opens the way, or the SHA-256 of one. `id` is what logs and metrics call it. */
export interface Key {
  readonly id: string;
  readonly secret: { readonly plain: Buffer } | { readonly sha256: Buffer };
  /** From when on it is refused; undefined for never. */
  readonly expiresAt?: Date | undefined;
  readonly note?: string | undefined;
}

/** The keys that hold now. */
export interface Keys {
  /** The id of the key in an Authorization header's value; undefined when it is none of ours. */
  find(bytes: Uint8Array, from: number, to: number): string | undefined;
  /** Other keys hold from now on. Who was let in before is not asked again. */
  replace(keys: readonly Key[]): void;
}

/** From so many keys on, hashing what was sent once is cheaper than comparing it with each. */
const comparedAtMost = 16;

/** Opens a set of keys, which lets nobody in while it is empty. */
export function openKeys(first: readonly Key[] = []): Keys {
  let [plain, hashed] = split(first);

  function find(bytes: Uint8Array, from: number, to: number): string | undefined {
    const at = from + scheme.length;
    if (at >= to || !equalsAnyCase(bytes, from, at, scheme)) return undefined;
    let found: Key | undefined;
    for (const { key, bytes: own } of plain)
      if (isSame(own, bytes, at, to) && !isExpired(key)) found = key;
    if (hashed.length > 0) {
      const { timingSafeEqual } = crypto();
      const digest = sha256(bytes.subarray(at, to));
      for (const { key, bytes: own } of hashed)
        if (timingSafeEqual(own, digest) && !isExpired(key)) found = key;
    }
    return found?.id;
  }

  return {
    find,
    replace(others) {
      [plain, hashed] = split(others);
    },
  };
}

/** One blank follows the scheme; a second one would belong to the key. RFC 9110 section 11.4. */
const scheme = bytesOf("bearer ");

/** Only who has digests, or many keys, pays the 2 MB that this takes. */
const crypto = () => process.getBuiltinModule("node:crypto");

/** The SHA-256 of a key. */
export const sha256 = (key: Uint8Array): Buffer => crypto().hash("sha256", key, "buffer");

interface Compared {
  readonly key: Key;
  readonly bytes: Buffer;
}

function split(keys: readonly Key[]): [plain: Compared[], hashed: Compared[]] {
  const plain: Compared[] = [];
  const hashed: Compared[] = [];
  for (const key of keys)
    if ("sha256" in key.secret) hashed.push({ key, bytes: key.secret.sha256 });
    else if (keys.length <= comparedAtMost) plain.push({ key, bytes: key.secret.plain });
    else hashed.push({ key, bytes: sha256(key.secret.plain) });
  return [plain, hashed];
}

/** Always walks over the whole key, so that its time says nothing of how much was right. */
function isSame(key: Buffer, bytes: Uint8Array, from: number, to: number): boolean {
  let difference = key.length ^ (to - from);
  for (let i = 0; i < key.length; i++) difference |= (key[i] ?? 0) ^ (bytes[from + i] ?? 0);
  return difference === 0;
}

const isExpired = ({ expiresAt }: Key): boolean =>
  expiresAt !== undefined && expiresAt.getTime() <= Date.now();
