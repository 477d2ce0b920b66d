import * as z from "zod";
import type { Operation } from "../../common/operation.ts";
import { Receipt } from "../../contract/records/requests.ts";

/** A JSON Schema, as far as we look into it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly contentMediaType?: string;
  readonly contentSchema?: Schema;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema | false;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
}

/** The shapes of one operation; those with a name of their own are references. */
export interface RowShapes {
  readonly path?: Schema;
  readonly query?: Schema;
  readonly header?: Schema;
  readonly body?: Schema;
  /** What the operation leaves, be it answered at once or stored. */
  readonly output: Schema;
  /** What it answers before it has run, in mode `receipt`. */
  readonly receipt: Schema;
}

interface Shapes {
  readonly named: Readonly<Record<string, Schema>>;
  of(row: Operation): RowShapes;
}

const parts = ["path", "query", "header", "body"] as const;

/** The JSON Schemas of all rows, worked out in one go so that each named shape is there once. */
export function shapesOf(rows: readonly Operation[]): Shapes {
  const given: Record<string, z.ZodType> = {};
  const left: Record<string, z.ZodType> = { receipt: Receipt };
  for (const { name, input, output } of rows) {
    for (const part of parts) if (input[part] !== undefined) given[`${name} ${part}`] = input[part];
    left[`${name} output`] = output;
  }
  const inputs = convert(given, "input");
  const outputs = convert(left, "output");
  const found: Record<string, Schema> = { ...inputs.properties, ...outputs.properties };
  return {
    named: { ...outputs.named, ...inputs.named },
    of: ({ name }) => ({
      ...pick(found, name),
      output: found[`${name} output`] ?? {},
      receipt: found["receipt"] ?? {},
    }),
  };
}

function pick(
  found: Readonly<Record<string, Schema>>,
  name: string,
): Omit<RowShapes, "output" | "receipt"> {
  const entries = parts.flatMap((part) => {
    const schema = found[`${name} ${part}`];
    return schema === undefined ? [] : [[part, schema] as const];
  });
  return Object.fromEntries(entries);
}

interface Converted {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly named: Readonly<Record<string, Schema>>;
}

function convert(types: Readonly<Record<string, z.ZodType>>, io: "input" | "output"): Converted {
  const schema = z.toJSONSchema(z.object(types), { io, override: tidy });
  const text = JSON.stringify({ properties: schema.properties ?? {}, named: schema.$defs ?? {} });
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/'));
}

/** Leaves out what says nothing, and tells defaults that stand before a conversion. */
const tidy: NonNullable<z.core.ToJSONSchemaParams["override"]> = ({ zodSchema, jsonSchema }) => {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  const { propertyNames } = jsonSchema;
  if (typeof propertyNames !== "object" || propertyNames.pattern === undefined)
    delete jsonSchema.propertyNames;
  const { def } = zodSchema._zod;
  if (def.type === "default") jsonSchema.default = def.defaultValue;
};
