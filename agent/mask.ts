/** Hides secret values in bytes that leave the node. */
export interface Masker {
  /** How many bytes before and after a piece decide what is hidden in it. */
  readonly reach: number;
  /** Puts a `*` over each byte of every secret; where a border cut one in two, over its rest. */
  mask(bytes: Buffer, borders?: { readonly start?: boolean; readonly end?: boolean }): void;
  /** How many bytes at the end may be the beginning of a secret. */
  openAtEnd(bytes: Buffer): number;
}

/** Shorter values are too common to be hidden. */
const leastLength = 6;
const star = "*".charCodeAt(0);

/** What hides these values. */
export function openMasker(values: Iterable<string>): Masker {
  const secrets = [...new Set(values)]
    .filter((value) => value.length >= leastLength)
    .map((value) => Buffer.from(value));
  const reach = Math.max(0, ...secrets.map(({ length }) => length - 1));
  const openAtEnd = (bytes: Buffer) =>
    longest(secrets, bytes, (secret, length) =>
      bytes.subarray(bytes.length - length).equals(secret.subarray(0, length)),
    );
  const openAtStart = (bytes: Buffer) =>
    longest(secrets, bytes, (secret, length) =>
      bytes.subarray(0, length).equals(secret.subarray(secret.length - length)),
    );
  return {
    reach,
    openAtEnd,
    mask(bytes, { start = false, end = false } = {}) {
      const places = [
        ...secrets.flatMap((secret) => placesOf(bytes, secret)),
        ...(start ? [[0, openAtStart(bytes)] as const] : []),
        ...(end ? [[bytes.length - openAtEnd(bytes), bytes.length] as const] : []),
      ];
      for (const [from, to] of places) bytes.fill(star, from, to);
    },
  };
}

/** Secrets may overlap one another and themselves, so all are found before one is hidden. */
function placesOf(bytes: Buffer, secret: Buffer): (readonly [from: number, to: number])[] {
  const places: [number, number][] = [];
  for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + 1))
    places.push([at, at + secret.length]);
  return places;
}

/** The longest part of a secret, short of the whole, that fits. */
function longest(
  secrets: readonly Buffer[],
  bytes: Buffer,
  fits: (secret: Buffer, length: number) => boolean,
): number {
  let found = 0;
  for (const secret of secrets)
    for (let length = Math.min(secret.length - 1, bytes.length); length > found; length -= 1)
      if (fits(secret, length)) found = length;
  return found;
}
