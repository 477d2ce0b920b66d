import { invalidInput } from "./input.ts";

/** Deeper than any task; what walks a body may recurse that far. */
const depthAtMost = 200;
/** More than the largest input that all caps of a row allow; each value costs a check. */
const valuesAtMost = 50_000;

/** A JSON body; undefined for an empty one. Throws what is wrong with it, answered 422. */
export function parseJson(text: string): unknown {
  if (text === "") return undefined;
  const { deepest, values } = sizeOf(text);
  if (deepest > depthAtMost) throw refusal(`is nested deeper than ${depthAtMost} levels`);
  if (values > valuesAtMost) throw refusal(`has more than ${valuesAtMost} values`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refusal(`is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

const refusal = (msg: string) => invalidInput([{ loc: ["body"], msg, type: "json_invalid" }]);

/**
 * How deep brackets are nested at most, and about how many values there are; what is inside strings
 * counts for nothing. Each character is looked at once, whatever the text: a string without an end is
 * one to the end of the text.
 */
function sizeOf(text: string): { deepest: number; values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === quote) at = endOfString(text, at);
    else if (sign === comma) values += 1;
    else if (sign === openList || sign === openMap) deepest = Math.max(deepest, ++depth);
    else if (sign === closeList || sign === closeMap) depth -= 1;
  }
  return { deepest, values };
}

const [quote, backslash, comma, openList, closeList, openMap, closeMap] = [...'"\\,[]{}'].map(
  (sign) => sign.charCodeAt(0),
);

/** Where the string that begins at `start` ends: its closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
