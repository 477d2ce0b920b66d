const newline = 10;

/** Puts the prefix before each line; the last one is ended when it was not. */
export function prefixLines(bytes: Buffer, prefix: string): Buffer {
  const before = Buffer.from(prefix);
  const pieces: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(newline, start);
    const end = found === -1 ? bytes.length : found + 1;
    pieces.push(before, bytes.subarray(start, end));
    start = end;
  }
  if (bytes.length > 0 && bytes.at(-1) !== newline) pieces.push(Buffer.from("\n"));
  return Buffer.concat(pieces);
}
