import { protocol } from "../../common/product.ts";

/**
 * Takes the power out of control tags in what a workload prints, byte for byte as long as before:
 * `<sky-payload` becomes `<sky_payload`. Existing clients obey such a tag wherever it stands.
 */
export interface Neutraliser {
  /** The harmless bytes so far; keeps back only an end that may be the beginning of a tag. */
  push(chunk: Buffer): Buffer;
  /** What was kept back; call it once, when no more bytes come. */
  end(): Buffer;
}

const tags = [protocol.payloadTag, protocol.interactiveTag].map((tag) => Buffer.from(`<${tag}`));
/** How every tag begins: all that a quick search has to look for. */
const opening = Buffer.from(
  `<${protocol.payloadTag.slice(0, protocol.payloadTag.indexOf("-") + 1)}`,
);
const dashAt = opening.length - 1;
const longest = Math.max(...tags.map((tag) => tag.length));
const lessThan = 0x3c;
const underscore = 0x5f;
const nothing = Buffer.alloc(0);

/** A filter for one stream. */
export function neutraliser(): Neutraliser {
  let kept: Buffer = nothing;
  return {
    push(chunk) {
      const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
      const ready = bytes.length - unsureLength(bytes);
      kept = Buffer.from(bytes.subarray(ready));
      return defused(bytes.subarray(0, ready));
    },
    end() {
      const rest = kept;
      kept = nothing;
      return rest;
    },
  };
}

/** The chunks of a stream made harmless. */
export async function* neutralise(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const filter = neutraliser();
  for await (const chunk of chunks) {
    const harmless = filter.push(chunk);
    if (harmless.length > 0) yield harmless;
  }
  const rest = filter.end();
  if (rest.length > 0) yield rest;
}

/** A whole text made harmless. */
export const neutraliseText = (text: string): string =>
  defused(Buffer.from(text, "utf8")).toString("utf8");

/** How many bytes at the end may be the beginning of a tag whose rest is still to come. */
function unsureLength(bytes: Buffer): number {
  const end = bytes.subarray(-longest);
  const last = end.lastIndexOf(lessThan);
  if (last === -1) return 0;
  const tail = end.subarray(last);
  const unsure = tags.some((tag) => tail.length < tag.length && startsWith(tag, tail));
  return unsure ? tail.length : 0;
}

function defused(bytes: Buffer): Buffer {
  if (!bytes.includes(opening)) return bytes;
  const copy = Buffer.from(bytes);
  for (const tag of tags)
    for (let at = copy.indexOf(tag); at !== -1; at = copy.indexOf(tag, at + tag.length))
      copy[at + dashAt] = underscore;
  return copy;
}

const startsWith = (bytes: Buffer, start: Buffer): boolean =>
  start.length <= bytes.length && bytes.compare(start, 0, start.length, 0, start.length) === 0;
