import { safe } from "../html.ts";
import type { Schema } from "./schemas.ts";

/** One field of a table. */
export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

/** The fields of an object shape. */
export const fieldsOf = ({ properties = {}, required = [] }: Schema): Field[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    schema,
  }));

/** Fields as a table of name, type and meaning. */
export const tableOf = (fields: readonly Field[]): string =>
  `<table><tr><th>Field</th><th>Type</th><th>Meaning</th></tr>
${fields.map(rowOf).join("\n")}</table>`;

function rowOf({ name, required, schema }: Field): string {
  const meaning = safe(schema.description ?? "");
  return `<tr><td><code>${safe(name)}</code> ${presenceOf(required, schema)}</td><td>${typeOf(schema)}</td><td>${meaning}</td></tr>`;
}

function presenceOf(required: boolean, schema: Schema): string {
  if (required) return '<span class="needed">required</span>';
  if (schema.default === undefined || schema.default === null) return "";
  return `<span class="says">= ${safe(JSON.stringify(schema.default))}</span>`;
}

/** A shape in a few characters, names of shapes as links: `array<integer> | null`. */
export const typeOf = (schema: Schema): string => `<code class="type">${spelled(schema)}</code>`;

function spelled(schema: Schema): string {
  const { $ref, enum: values, anyOf, items, prefixItems, type, additionalProperties } = schema;
  if ($ref !== undefined) return `<a href="#${shapeAnchorOf(nameOf($ref))}">${nameOf($ref)}</a>`;
  if (values !== undefined) return values.map(literal).join(" | ");
  if (schema.const !== undefined) return literal(schema.const);
  if (anyOf !== undefined) return anyOf.map(spelled).join(" | ");
  if (prefixItems !== undefined) return `[${prefixItems.map(spelled).join(", ")}]`;
  if (type === "array") return `array&lt;${items ? spelled(items) : "any"}&gt;`;
  if (type === "object" && typeof additionalProperties === "object")
    return `map&lt;${spelled(additionalProperties)}&gt;`;
  return type === undefined ? "any" : [type].flat().join(" | ");
}

const literal = (value: unknown): string => safe(JSON.stringify(value));

/** The name at the end of a reference. */
export const nameOf = (ref: string): string => ref.split("/").at(-1) ?? ref;

/** Where a named shape stands on the page. */
export const shapeAnchorOf = (name: string): string => `shape-${safe(name)}`;
