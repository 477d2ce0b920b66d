/** Lays what a task says of its pods over ours. Pure. */

type Mapping = Record<string, unknown>;

const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Mappings are merged key by key. In lists, entries of the same name are merged and others are added; a first
 * container without a name is ours.
 */
export function merge<T>(base: T, over: unknown): T {
  if (over === undefined || over === null) return base;
  if (isMapping(base) && isMapping(over)) {
    const merged: Mapping = { ...base };
    for (const [key, value] of Object.entries(over)) merged[key] = merge(merged[key], value);
    return merged as T;
  }
  if (Array.isArray(base) && Array.isArray(over)) return mergeLists(base, over) as T;
  return over as T;
}

function mergeLists(base: readonly unknown[], over: readonly unknown[]): unknown[] {
  const merged = [...base];
  for (const [index, entry] of over.entries()) {
    const at = placeOf(merged, entry, index);
    if (at < 0) merged.push(entry);
    else merged[at] = merge(merged[at], entry);
  }
  return merged;
}

function placeOf(merged: readonly unknown[], entry: unknown, index: number): number {
  if (!isMapping(entry)) return -1;
  if (entry["name"] !== undefined)
    return merged.findIndex((one) => isMapping(one) && one["name"] === entry["name"]);
  const [first] = merged;
  const isOurContainer = index === 0 && isMapping(first) && "image" in first;
  return isOurContainer ? 0 : -1;
}
