import type { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";

/** A node belongs to its user, who may send anything. */
const lineAtMost = 2 ** 20;

/**
 * The lines of a stream, without their ends; what follows the last end is left out. Throws
 * `UnreachableError` at a line of more than 2^20 characters.
 */
export async function* linesOf(body: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of body.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > lineAtMost)
      fail("UnreachableError", `a line of more than ${lineAtMost} characters was sent`);
  }
}
