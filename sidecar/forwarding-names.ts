import { byte, bytesOf, isAlphanumeric } from "./bytes.ts";

/** Headers that say who a client is or what it asked for, as a proxy before us might; and all of `X-Forwarded-*`. */
export const forwardingNames = [
  "forwarded",
  "client-ip",
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "true-client-ip",
  "cf-connecting-ip",
  "x-original-url",
  "x-rewrite-url",
] as const;

export const forwardedPrefix = "x-forwarded-";
const prefixBytes = bytesOf(forwardedPrefix);

/**
 * Whether the bytes are this name as a server may read it. Behind WSGI, CGI or PHP, `X_Forwarded.For` is
 * `X-Forwarded-For`: so whatever is no letter or digit counts as a dash. `wanted` is in lower case.
 */
export function isReadAs(bytes: Uint8Array, from: number, to: number, wanted: Buffer): boolean {
  return to - from === wanted.length && beginsAs(bytes, from, wanted);
}

function beginsAs(bytes: Uint8Array, from: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i++) {
    const code = bytes[from + i] ?? 0;
    const isDash = wanted[i] === byte.dash && isAlphanumeric[code] === 0;
    if ((code | 0x20) !== wanted[i] && !isDash) return false;
  }
  return true;
}

/** Whether the name is read as one of `X-Forwarded-*`. */
export const isForwarded = (bytes: Uint8Array, from: number, to: number): boolean =>
  to - from > prefixBytes.length && beginsAs(bytes, from, prefixBytes);

/** Whether a name is spelled with letters, digits and dashes alone, so that every server reads the same. */
export function isPlainName(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = bytes[at] ?? 0;
    if (code !== byte.dash && isAlphanumeric[code] === 0) return false;
  }
  return true;
}
