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

/**
 * How deep brackets are nested at most; those inside strings count for nothing. Each sign is looked at
 * once, whatever the text: a string without an end is one to the end of the text.
 */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (inString && sign === "\\") at += 1;
    else if (sign === '"') inString = !inString;
    else if (inString) continue;
    else if (sign === "[" || sign === "{") deepest = Math.max(deepest, ++depth);
    else if (sign === "]" || sign === "}") depth -= 1;
  }
  return deepest;
}
