import { hintOf } from "../spelling.ts";
import { child, gives, isFull, type Place, refuse, writtenOf } from "./place.ts";
import { anyCase, either, list, map, mapping, type Schema } from "./schema.ts";

/** Checks a place and gives its value; notes what is wrong and gives undefined. */
export interface Reader<T> {
  (place: Place): T | undefined;
  /** What editors know of its values; a field without one is not for people to write. */
  readonly schema?: Schema;
}

/** A reader of values that editors know. */
export type Listed<T> = Reader<T> & { readonly schema: Schema };

/** The reader of values that editors know as `schema`. */
export const reads = <T>(schema: Schema, read: (place: Place) => T | undefined): Listed<T> =>
  Object.assign((place: Place) => read(place), { schema });

/** The same for a field that people do not write. */
export const unlisted =
  <T>(reader: Reader<T>): Reader<T> =>
  (place) =>
    reader(place);

const schemaOf = ({ schema = {} }: Reader<unknown>): Schema => schema;

/** What each reader of a table gives; undefined where the field is missing or wrong. */
export type FieldsOf<Readers> = {
  readonly [Key in keyof Readers]?: (Readers[Key] extends Reader<infer T> ? T : never) | undefined;
};

/** Text, and nothing that YAML takes for a number or a boolean. */
export const text = reads({ type: "string" }, (place) => {
  if (typeof place.value === "string") return place.value;
  const written = writtenOf(place);
  if (written === undefined) return refuse(place, "must be text", "type_error");
  return refuse(place, `must be text; write it in quotes: "${written.slice(0, 40)}"`, "type_error");
});

/** Text that is not empty. */
export const filledText = reads(text.schema, (place) =>
  place.value === "" ? refuse(place, "must not be empty") : text(place),
);

/** Text, or a number or boolean taken as it is written. */
export const writtenText = reads(
  { type: ["string", "number", "boolean"] },
  (place) => writtenOf(place) ?? refuse(place, "must be text", "type_error"),
);

/** Text, or a list of texts joined by newlines. */
export const script = reads(either(text.schema, list(text.schema)), (place) => {
  if (!Array.isArray(place.value)) return text(place);
  return listOf(text)(place)?.join("\n");
});

const booleans: Readonly<Record<string, boolean>> = { yes: true, no: false, on: true, off: false };
const flagSchema = { type: ["boolean", "string"], pattern: anyCase(Object.keys(booleans)) };

/** A boolean; `yes`, `no`, `on` and `off` are booleans in older YAML and stay so. */
export const flag = reads(flagSchema, (place) => {
  const { value } = place;
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.toLowerCase() : "";
  if (Object.hasOwn(booleans, word)) return booleans[word];
  return refuse(place, "must be true or false", "type_error");
});

interface Bounds {
  readonly min?: number;
  readonly max?: number;
  /** The value must be greater than this. */
  readonly above?: number;
}

/** A number within bounds. */
export const number = (bounds: Bounds): Listed<number> =>
  reads({ type: "number", ...boundsSchema(bounds) }, (place) => {
    const { value } = place;
    const message = `must be a number${boundsText(bounds)}`;
    if (typeof value !== "number" || !Number.isFinite(value))
      return refuse(place, message, "type_error");
    return inBounds(value, bounds) ? value : refuse(place, message);
  });

/** A whole number within bounds. */
export const integer = (bounds: Bounds): Listed<number> =>
  reads({ type: "integer", ...boundsSchema(bounds) }, (place) => {
    const { value } = place;
    const message = `must be a whole number${boundsText(bounds)}`;
    if (typeof value !== "number") return refuse(place, message, "type_error");
    return Number.isSafeInteger(value) && inBounds(value, bounds) ? value : refuse(place, message);
  });

const boundsSchema = ({ min, max, above }: Bounds): Schema => ({
  ...(min !== undefined && { minimum: min }),
  ...(max !== undefined && { maximum: max }),
  ...(above !== undefined && { exclusiveMinimum: above }),
});

/** The most nodes of a cluster, replicas of a service, workers of a pool. */
export const mostMachines = 10_000;

/** How many nodes, replicas or workers. */
export const machines = (min: number): Listed<number> => integer({ min, max: mostMachines });

function inBounds(value: number, { min, max, above }: Bounds): boolean {
  return (
    value >= (min ?? Number.NEGATIVE_INFINITY) &&
    value <= (max ?? Number.POSITIVE_INFINITY) &&
    value > (above ?? Number.NEGATIVE_INFINITY)
  );
}

function boundsText({ min, max, above }: Bounds): string {
  if (above !== undefined) return ` greater than ${above}`;
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  return min === undefined ? "" : ` of at least ${min}`;
}

/** One of the names, in any letter case; gives it as it stands in the list. */
export const choice = <const Name extends string>(...names: readonly Name[]): Listed<Name> =>
  reads(either({ enum: names }, { type: "string", pattern: anyCase(names) }), (place) => {
    const { value } = place;
    const known =
      typeof value === "string" && names.find((name) => name.toLowerCase() === value.toLowerCase());
    return (
      known || refuse(place, `must be ${names.length > 1 ? "one of " : ""}${names.join(", ")}`)
    );
  });

/** The most entries of a list or a mapping. */
const mostEntries = 2_000;

/** Refuses a list or a mapping of more entries than `most`; false then. */
export function isWithin(place: Place, entries: number, most = mostEntries): boolean {
  if (entries <= most) return true;
  refuse(place, `has ${entries} entries; at most ${most} are allowed`, "too_large");
  return false;
}

/** A list whose items the reader takes; items that it refuses are left out. */
export const listOf = <T>(reader: Reader<T>): Listed<T[]> =>
  reads(list(schemaOf(reader)), (place) => {
    if (!Array.isArray(place.value)) return refuse(place, "must be a list", "type_error");
    if (!isWithin(place, place.value.length)) return undefined;
    const items: T[] = [];
    for (const index of place.value.keys()) {
      const item = isFull(place) ? undefined : reader(child(place, index));
      if (item !== undefined) items.push(item);
    }
    return items;
  });

/** A mapping from any key to what the reader takes; the reader sees entries that are null. */
export const mappingOf = <T>(reader: Reader<T>): Listed<Record<string, T>> =>
  reads(map(schemaOf(reader)), (place) => {
    const entries: [string, T][] = [];
    for (const key of keysOf(place) ?? []) {
      const item = isFull(place) ? undefined : reader(child(place, key));
      if (item !== undefined) entries.push([key, item]);
    }
    return Object.fromEntries(entries);
  });

/** The keys of a mapping; notes when it is none. */
export function keysOf(place: Place): string[] | undefined {
  if (isMapping(place.value)) {
    const keys = Object.keys(place.value);
    return isWithin(place, keys.length) ? keys : undefined;
  }
  return refuse(place, "must be a mapping of names to values", "type_error");
}

/** Whether the value is a mapping. */
export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Any data, as it is. */
export const data = reads({}, (place): unknown => place.value);

/** Fields that existing clients send for themselves: accepted, and left out. */
export const ignored: Reader<never> = () => undefined;

/** A field that stands elsewhere: refused with a pointer to its place. */
export const elsewhere =
  (target: string): Reader<never> =>
  (place) =>
    refuse(place, `does not belong here; write it as \`${target}\``, "extra_forbidden");

type Nulls = "missing" | "seen";

/**
 * The fields of a mapping, each by its reader. Unknown keys are refused with a close spelling. A
 * field that is null counts as missing, unless `nulls` says that readers want to see it.
 */
export function readFields<const Readers extends Record<string, Reader<unknown>>>(
  place: Place,
  readers: Readers,
  nulls: Nulls = "missing",
): FieldsOf<Readers> {
  const values: Record<string, unknown> = {};
  const isLeftOut = (key: string) => nulls === "missing" && !gives(place, key);
  for (const key of keysOf(place) ?? []) {
    if (isFull(place)) break;
    const reader = Object.hasOwn(readers, key) ? readers[key] : undefined;
    if (reader === undefined) refuseUnknown(child(place, key), key, readers);
    else if (!isLeftOut(key)) values[key] = reader(child(place, key));
  }
  return values as FieldsOf<Readers>;
}

/** A mapping of fields, each by its reader; those that are required are there, or it notes that. */
export const fields = <const Readers extends Record<string, Reader<unknown>>>(
  readers: Readers,
  required: readonly (keyof Readers & string)[] = [],
  nulls: Nulls = "missing",
): Listed<FieldsOf<Readers>> =>
  reads(mapping(readers, required), (place) => {
    const given = readFields(place, readers, nulls);
    for (const key of required) needs(place, key);
    return given;
  });

function refuseUnknown(place: Place, key: string, readers: Record<string, unknown>): undefined {
  const known = Object.keys(readers).filter(
    (name) => readers[name] !== ignored && !name.startsWith("_"),
  );
  const others =
    known.length > 12 ? "check its place and spelling" : `expected one of ${known.join(", ")}`;
  const hint = hintOf(key, known, others);
  return refuse(place, `unknown field \`${key.slice(0, 40)}\`; ${hint}`, "extra_forbidden");
}

/** Notes of a mapping without the field that it is missing. */
export function needs(place: Place, key: string): void {
  if (isMapping(place.value) && !gives(place, key)) refuse(place, `needs \`${key}\``, "missing");
}
