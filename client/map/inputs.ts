import { createHash } from "node:crypto";
import { fail } from "../../common/errors.ts";
import { readNamed } from "../../common/files.ts";

const mostBytes = 256 * 1024 * 1024;
const mostInputs = 100_000;

/** How many inputs there are, and what tells these from others. */
export interface Inputs {
  readonly digest: string;
  readonly count: number;
}

/** The inputs in a file: one each line. Throws `ValueError` where there are none, or too many. */
export function readInputs(file: string): Inputs {
  const content = readNamed(file, { mostBytes });
  if (content.length === 0) fail("ValueError", `${file} is empty; write one input per line`);
  if (content.includes(0)) fail("ValueError", `${file} is not a text: it has NUL characters`);
  let count = content.at(-1) === 10 ? 0 : 1;
  for (let at = content.indexOf(10); at >= 0; at = content.indexOf(10, at + 1)) count += 1;
  if (count > mostInputs)
    fail("ValueError", `${file} has ${count} inputs; a map has at most ${mostInputs}`);
  return { digest: createHash("sha256").update(content).digest("hex"), count };
}
