import { asText } from "./amounts.ts";
import { isFull, itemsOf, type Place, refuse } from "./place.ts";
import { reads } from "./readers.ts";
import { amount, either, list } from "./schema.ts";

type Range = readonly [first: number, last: number];

const port = amount(/^\d{1,5}(?:\s*-\s*\d{1,5})?$/);

/** A port, a range `8000-8010`, or a list of them; gives them sorted, overlapping ones merged. */
export const ports = reads<string[]>(either(port, list(port)), (place) => {
  const ranges = itemsOf(place).flatMap((item) => (isFull(item) ? [] : (rangeAt(item) ?? [])));
  return mergeRanges(ranges).map(([first, last]) =>
    first === last ? `${first}` : `${first}-${last}`,
  );
});

/** Every port of canonical port texts, by rising number. */
export function expandPorts(texts: readonly string[]): number[] {
  return texts.flatMap((text) => {
    const [first = 0, last = first] = text.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

function rangeAt(place: Place): [Range] | undefined {
  const [, from, to = from] = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(asText(place.value)) ?? [];
  if (from === undefined)
    return refuse(place, "must be a port or a range of ports: 8080 or 8000-8010");
  const [first, last] = [Number(from), Number(to)];
  if (first < 1 || last > 65_535 || first > 65_535)
    return refuse(place, "must be between 1 and 65535");
  if (first > last) return refuse(place, "must be a range that begins with its lower port");
  return [[first, last]];
}

/** Sorted, with ranges that overlap or touch made one. */
function mergeRanges(ranges: readonly Range[]): Range[] {
  const merged: [number, number][] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = merged.at(-1);
    if (before === undefined || first > before[1] + 1) merged.push([first, last]);
    else before[1] = Math.max(before[1], last);
  }
  return merged;
}
