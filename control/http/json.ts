import { invalidInput } from "./input.ts";

/** Deeper than any task; what walks a body may recurse that far. */
const depthAtMost = 200;

/** A JSON body; undefined for an empty one. Throws what is wrong with it, answered 422. */
export function parseJson(text: string): unknown {
  if (text === "") return undefined;
  if (depthOf(text) > depthAtMost) throw refusal(`is nested deeper than ${depthAtMost} levels`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refusal(`is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

const refusal = (msg: string) => invalidInput([{ loc: ["body"], msg, type: "json_invalid" }]);

/** How deep brackets are nested at most; those inside strings count for nothing. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
