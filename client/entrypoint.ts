import { fail } from "../common/errors.ts";
import { type Entrypoint, filled, readEntrypoint } from "./task-text.ts";
import type { Input } from "./terminal.ts";
import type { World } from "./world.ts";

/** The task of an entrypoint; `-` is YAML on stdin. Throws as `readEntrypoint` does. */
export async function entrypointOf(
  { cwd, streams }: Pick<World, "cwd" | "streams">,
  words: readonly string[],
): Promise<Entrypoint> {
  if (words.length !== 1 || words[0] !== "-") return readEntrypoint(words, cwd);
  return { text: filled(await readStdin(streams.stdin), "stdin"), file: "stdin" };
}

const largestBytes = 16 * 1024 * 1024;

/** What comes on stdin, to its end. Throws `UsageError` at a terminal, `ValueError` when it is too much. */
export async function readStdin(stdin: Input): Promise<string> {
  if (stdin.isTTY) fail("UsageError", "- reads from stdin; pipe a file into it: ... - < task.yaml");
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    size += chunk.length;
    if (size > largestBytes) fail("ValueError", `stdin has more than ${largestBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
