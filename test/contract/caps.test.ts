import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { operations } from "../../contract/api.ts";
import { caps, filePath, longText, settings, text } from "../../contract/caps.ts";

interface JsonSchema {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | false;
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  "x-maxValues"?: number;
}

test("every list, text, number and map of an input has a cap", () => {
  const found = operations.flatMap(({ name, input }) =>
    [input.path, input.query, input.header, input.body].flatMap((shape) => {
      const schema = shape && (z.toJSONSchema(shape, { io: "input" }) as JsonSchema);
      return schema ? uncapped(schema, schema.$defs ?? {}, name) : [];
    }),
  );

  assert.deepEqual(found, []);
});

test("settings of any shape are limited at every depth", () => {
  const nested = (values: number) => ({ a: { b: Array(values).fill(1) } });

  assert.equal(settings.safeParse(nested(caps.values - 10)).success, true);
  assert.equal(settings.safeParse(nested(caps.values)).success, false);
  assert.equal(settings.safeParse({ a: "x".repeat(caps.characters) }).success, false);
  assert.equal(settings.safeParse(mapOfSize(caps.entries)).success, true);
  assert.equal(settings.safeParse(mapOfSize(caps.entries + 1)).success, false);
});

test("a text that reaches a file system or a process has no NUL", () => {
  for (const shape of [text, filePath, longText]) {
    assert.equal(shape.safeParse("a\nb").success, true);
    assert.equal(shape.safeParse("a\0b").success, false);
  }
});

const mapOfSize = (size: number) =>
  Object.fromEntries(Array.from({ length: size }, (_, at) => [`k${at}`, at]));

/** The paths of what may grow without end. */
function uncapped(schema: JsonSchema, named: Record<string, JsonSchema>, path: string): string[] {
  const inner = (one: JsonSchema | false | undefined, step: string) =>
    one ? uncapped(one, named, `${path}${step}`) : [];
  const { enum: values, const: value, anyOf, type, $ref } = schema;
  if (values !== undefined || value !== undefined || schema["x-maxValues"] !== undefined) return [];
  if ($ref !== undefined) return inner(named[$ref.replace("#/$defs/", "")], "");
  if (anyOf !== undefined) return anyOf.flatMap((one) => inner(one, ""));
  const here = isCapped(schema) ? [] : [`${path}: ${type ?? "anything"}`];
  const fields = Object.entries(schema.properties ?? {});
  return [
    ...here,
    ...inner(schema.items, "[]"),
    ...inner(schema.additionalProperties, "{}"),
    ...fields.flatMap(([name, field]) => inner(field, `.${name}`)),
  ];
}

function isCapped({ type, ...schema }: JsonSchema): boolean {
  const { minimum = -Infinity, maximum = Infinity } = schema;
  if (type === "string") return schema.maxLength !== undefined;
  if (type === "array") return schema.maxItems !== undefined;
  if (type === "integer" || type === "number")
    return minimum > Number.MIN_SAFE_INTEGER && maximum < Number.MAX_SAFE_INTEGER;
  if (type === "object") return !schema.additionalProperties || schema.maxProperties !== undefined;
  return [type].flat().every((one) => one === "boolean" || one === "null");
}
