import type { Readable } from "node:stream";

/** The lines of a stream, without their ends; what follows the last end is left out. */
export async function* linesOf(body: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of body.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
