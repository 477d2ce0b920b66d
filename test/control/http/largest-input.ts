import * as z from "zod";
import type { Operation } from "../../../common/operation.ts";

/** What a JSON Schema says of how large a value may be. */
interface Sized {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Sized[];
  readonly items?: Sized;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Sized>>;
  readonly additionalProperties?: Sized | false;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Sized>>;
  readonly "x-maxValues"?: number;
  readonly "x-maxCharacters"?: number;
}

/** Values by field that are used where a row has the field. */
export type Known = Readonly<Record<string, unknown>>;

/** So that the whole body stays below the largest that is taken. */
const charactersAtMost = 3_900_000;
/** A query travels in the head, which takes 16 KiB in all; so it has fewer items than a list may have. */
const query = { characters: 6_000, items: 100 };
/** What is in a path, Fastify takes no more of. */
const pathCharacters = 400;

/** The largest input that the shapes of a row take, each field filled up to its cap. */
export function largestInput({ input }: Operation, known: Known): Record<string, unknown> {
  return {
    ...fill(input.path, known, pathCharacters),
    ...fill(input.query, known, query.characters, query.items),
    ...fill(input.body, known, charactersAtMost),
  };
}

function fill(
  shape: z.ZodObject | undefined,
  known: Known,
  room: number,
  items = Number.POSITIVE_INFINITY,
): Record<string, unknown> {
  if (shape === undefined) return {};
  const whole = z.toJSONSchema(shape, { io: "input" }) as Sized;
  const named = whole.$defs ?? {};
  const schema = resolve(whole, named);
  const filler = openFiller(named, room, items);
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    name,
    Object.hasOwn(known, name) ? known[name] : filler(field),
  ]);
  const open = schema["x-maxValues"] === undefined ? {} : filler({ ...schema, properties: {} });
  return { ...(open as object), ...Object.fromEntries(fields) };
}

const resolve = (schema: Sized, named: Readonly<Record<string, Sized>>): Sized =>
  schema.$ref === undefined ? schema : (named[schema.$ref.replace("#/$defs/", "")] ?? {});

/** Fills shapes one after the other, until there is no more room for characters. */
function openFiller(named: Readonly<Record<string, Sized>>, room: number, atMost: number) {
  let left = room;
  const textOf = (length: number, most = left): string => {
    const text = "x".repeat(Math.max(0, Math.min(length, most, left)));
    left -= text.length + 8;
    return text;
  };
  const mapOf = (entries: number, value: (at: number) => unknown) =>
    Object.fromEntries(Array.from({ length: entries }, (_, at) => [`k${at}`, value(at)]));

  function filled(schema: Sized, most = left): unknown {
    const { enum: values, anyOf, items, $ref, properties, additionalProperties } = schema;
    if (schema.const !== undefined) return schema.const;
    if (values !== undefined) return values[0];
    if ($ref !== undefined) return filled(resolve(schema, named), most);
    if (anyOf !== undefined) return filled(largestOf(anyOf), most);
    const entries = Math.min(atMost, schema.maxItems ?? schema.maxProperties ?? 0);
    const share = Math.floor(Math.min(most, left) / Math.max(1, entries)) - 8;
    if (schema["x-maxValues"] !== undefined) {
      const each = Math.floor((schema["x-maxCharacters"] ?? 0) / schema["x-maxValues"] / 2);
      const inner = Math.floor(schema["x-maxValues"] / entries) - 2;
      return mapOf(entries, () => Array.from({ length: inner }, () => textOf(each)));
    }
    if (items !== undefined) return Array.from({ length: entries }, () => filled(items, share));
    if (additionalProperties) return mapOf(entries, () => filled(additionalProperties, share));
    if (properties !== undefined)
      return Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, filled(field, most)]),
      );
    const [type] = [schema.type].flat();
    if (type === "string") return textOf(schema.maxLength ?? 0, most);
    if (type === "boolean") return true;
    return type === "null" ? null : (schema.maximum ?? 0);
  }
  return filled;
}

const largestOf = (schemas: readonly Sized[]): Sized =>
  schemas.find(({ type }) => type === "array") ??
  schemas.find(({ type }) => type === "object") ??
  schemas.find(({ type }) => type !== "null") ??
  {};
