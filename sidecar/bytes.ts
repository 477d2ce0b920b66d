/** Bytes that HTTP heads are made of. */
export const byte = {
  tab: 0x09,
  lf: 0x0a,
  cr: 0x0d,
  space: 0x20,
  quote: 0x22,
  hash: 0x23,
  star: 0x2a,
  comma: 0x2c,
  dash: 0x2d,
  slash: 0x2f,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  semicolon: 0x3b,
  equals: 0x3d,
  question: 0x3f,
  open: 0x5b,
  backslash: 0x5c,
  close: 0x5d,
  del: 0x7f,
} as const;

/** A table of 256 entries: 1 for each byte of the class. */
export type ByteClass = Uint8Array;

const classOf = (isIn: (code: number) => boolean): ByteClass =>
  Uint8Array.from({ length: 256 }, (_, code) => Number(isIn(code)));

const alphanumeric = /^[0-9A-Za-z]$/;
const isOneOf = (chars: string) => (code: number) => chars.includes(String.fromCharCode(code));
const isPunctuation = isOneOf("!#$%&'*+-.^_`|~");

/** Letters and digits. */
export const isAlphanumeric = classOf((code) => alphanumeric.test(String.fromCharCode(code)));

/** Bytes of methods and header names. Source: RFC 9110 section 5.6.2. */
export const isToken = classOf((code) => isAlphanumeric[code] === 1 || isPunctuation(code));

/** Bytes of header values: everything but controls, where a tab is none. */
export const isValue = classOf(
  (code) => code === byte.tab || (code >= byte.space && code !== byte.del),
);

/** Bytes of request targets: passed on as they are, so more than a URI may hold, but no fragment. */
export const isTarget = classOf(
  (code) => code > byte.space && code !== byte.del && code !== byte.hash,
);

const isHost = classOf((code) => isAlphanumeric[code] === 1 || isOneOf("-._~%")(code));

/** The value of each hexadecimal digit, 255 for every other byte. */
export const hexValue = Uint8Array.from({ length: 256 }, (_, code) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(code).toLowerCase());
  return digit < 0 ? 255 : digit;
});

/** The bytes of a text whose characters are one byte each. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");

/** Whether the bytes are these exactly. */
export function equals(bytes: Uint8Array, from: number, to: number, wanted: Uint8Array): boolean {
  if (to - from !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false;
  return true;
}

/**
 * Whether the bytes are these, whatever the case of their letters. `wanted` is lower-case letters,
 * digits and hyphens, and `bytes` holds no controls: so only letters can match another byte.
 */
export function equalsAnyCase(
  bytes: Uint8Array,
  from: number,
  to: number,
  wanted: Uint8Array,
): boolean {
  if (to - from !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++)
    if (((bytes[from + i] ?? 0) | 0x20) !== wanted[i]) return false;
  return true;
}

/** Whether the bytes are a name, or an address of IPv6 in brackets, alone or with a port. */
export function isAuthorityOnly(bytes: Uint8Array, from: number, to: number): boolean {
  const isBracketed = bytes[from] === byte.open;
  const hostFrom = isBracketed ? from + 1 : from;
  let at = hostFrom;
  while (at < to && (isHost[bytes[at] ?? 0] === 1 || (isBracketed && bytes[at] === byte.colon)))
    at++;
  if (at === hostFrom || (isBracketed && bytes[at++] !== byte.close) || at > to) return false;
  if (at === to) return true;
  if (bytes[at++] !== byte.colon) return false;
  while (at < to && isDigit(bytes[at])) at++;
  return at === to;
}

const isDigit = (code = 0): boolean => code >= byte.zero && code <= byte.nine;
