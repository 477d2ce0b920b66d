import type { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";
import { tooQuiet } from "./silence.ts";

/** A node belongs to its user, who may send anything. */
const lineAtMost = 2 ** 20;

/**
 * The lines of a stream, without their ends; what follows the last end is left out. Throws
 * `UnreachableError` at a line of more than 2^20 characters.
 */
export async function* linesOf(body: Readable): AsyncGenerator<string> {
  const take = openLines();
  for await (const chunk of body.setEncoding("utf8")) yield* take(chunk);
}

/**
 * Hears the lines of a stream that stays open, as `linesOf` gives them, in less memory. Resolves when it ends or is cut,
 * which without HTTP is the same; rejects with its error, when the signal aborts, with what `hear` throws, and with
 * `UnreachableError` once it was silent for too long.
 */
export async function hearLines(
  body: Readable,
  { silentMs, signal }: { readonly silentMs: number; readonly signal: AbortSignal },
  hear: (line: string) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal.reason);
  const late = () => reject(tooQuiet(silentMs));
  let quiet = setTimeout(late, silentMs);
  const take = openLines();
  body.setEncoding("utf8").on("data", (chunk: string) => {
    clearTimeout(quiet);
    quiet = setTimeout(late, silentMs);
    try {
      for (const line of take(chunk)) hear(line);
    } catch (error) {
      reject(error);
    }
  });
  body.on("error", reject).on("end", resolve).on("close", resolve);
  signal.addEventListener("abort", abort);
  try {
    signal.throwIfAborted();
    await promise;
  } finally {
    clearTimeout(quiet);
    signal.removeEventListener("abort", abort);
    body.destroy();
  }
}

/** Takes text bit by bit, and gives the lines that have ended. */
function openLines(): (chunk: string) => string[] {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > lineAtMost)
      fail("UnreachableError", `a line of more than ${lineAtMost} characters was sent`);
    return lines;
  };
}
