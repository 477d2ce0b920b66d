import type * as z from "zod";
import { fail, ifPossible } from "../common/errors.ts";

/** A body that is lines and bytes by turns. */
export interface Frames {
  /** The next line; undefined at the end. */
  line(): Promise<string | undefined>;
  /** Exactly so many bytes, to be read to their end; throws `ValueError` when there are no more. */
  bytes(size: number): AsyncGenerator<Uint8Array>;
}

/** Longer than the longest entry of a manifest. */
const longestLine = 64 * 1024;
const newline = 10;

/** Reads a body by turns; of what is not asked for little is held. */
export function openFrames(body: AsyncIterable<Uint8Array>): Frames {
  const chunks = body[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  const more = async (): Promise<boolean> => {
    const { value, done } = await chunks.next();
    if (done) return false;
    rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
    return true;
  };
  return {
    async line() {
      for (let end = rest.indexOf(newline); ; end = rest.indexOf(newline)) {
        if (end >= 0) {
          const line = Buffer.from(rest.subarray(0, end)).toString();
          rest = rest.subarray(end + 1);
          return line;
        }
        if (rest.length > longestLine) fail("ValueError", "a line is too long");
        if (await more()) continue;
        return rest.length === 0 ? undefined : fail("ValueError", "the files break off");
      }
    },
    async *bytes(size) {
      for (let left = size; left > 0; ) {
        if (rest.length === 0 && !(await more())) fail("ValueError", "the files break off");
        const chunk = rest.subarray(0, left);
        rest = rest.subarray(chunk.length);
        left -= chunk.length;
        yield chunk;
      }
    },
  };
}

/** The lines of a body that is nothing else. */
export async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const frames = openFrames(body);
  for (let line = await frames.line(); line !== undefined; line = await frames.line()) yield line;
}

/** What a line of JSON says; undefined when that has another shape. */
export const parseLine = <Shape extends z.ZodType>(
  shape: Shape,
  line: string,
): z.output<Shape> | undefined => ifPossible(() => shape.parse(JSON.parse(line)));
