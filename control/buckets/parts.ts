import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** A stretch of a file that is uploaded as one; `end` is behind it. */
export interface Part {
  readonly start: number;
  readonly end: number;
  readonly md5: Buffer;
}

const mebibyte = 2 ** 20;
const leastPartBytes = 16 * mebibyte;
/** Source: Amazon S3, "multipart upload limits". */
const mostParts = 10_000;

/** The parts of a file of this size: one for a small file, else many of one size. */
export async function readParts(
  file: string,
  size: number,
  leastBytes = leastPartBytes,
): Promise<Part[]> {
  const bytes = Math.max(leastBytes, Math.ceil(size / mostParts / mebibyte) * mebibyte);
  const parts: Part[] = [];
  for (let start = 0; start < size || parts.length === 0; start += bytes) {
    const end = Math.min(start + bytes, size);
    const hash = createHash("md5");
    for await (const chunk of streamOf(file, { start, end })) hash.update(chunk);
    parts.push({ start, end, md5: hash.digest() });
  }
  return parts;
}

/** The bytes of a part. */
export const streamOf = (file: string, { start, end }: Omit<Part, "md5">) =>
  createReadStream(file, { start, end: Math.max(start, end - 1) });

/** The ETag that a store gives to an object of these parts, unless it encrypts with keys of its own. */
export function etagOf(parts: readonly Part[]): string {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only.md5.toString("hex");
  const whole = createHash("md5").update(Buffer.concat(parts.map(({ md5 }) => md5)));
  return `${whole.digest("hex")}-${parts.length}`;
}
