/** A JSON Schema, draft 7: what editors know of the value of a field. */
export type Schema = Readonly<Record<string, unknown>>;

export const either = (...schemas: readonly Schema[]): Schema => ({ anyOf: schemas });
export const list = (items: Schema): Schema => ({ type: "array", items });
export const map = (values: Schema): Schema => ({ type: "object", additionalProperties: values });

/** A number, or text of this form. */
export const amount = (pattern: RegExp): Schema => ({
  type: ["number", "string"],
  pattern: pattern.source,
});

/** A pattern of the names, in any letter case. */
export function anyCase(names: readonly string[]): string {
  const letter = (one: string) =>
    /[a-z]/i.test(one) ? `[${one.toLowerCase()}${one.toUpperCase()}]` : one;
  return `^(?:${names.map((name) => [...name].map(letter).join("")).join("|")})$`;
}

/** A mapping of these fields and no others; those without a schema are not for people. */
export const mapping = (
  fields: Readonly<Record<string, { readonly schema?: Schema }>>,
  required: readonly string[] = [],
): Schema => ({
  type: "object",
  ...(required.length > 0 && { required }),
  properties: Object.fromEntries(
    Object.entries(fields).flatMap(([name, { schema }]) =>
      schema === undefined ? [] : [[name, orEmpty(schema)]],
    ),
  ),
  additionalProperties: false,
});

/** The schema, or null: a field that is empty counts as left out. */
function orEmpty(schema: Schema): Schema {
  const { type, anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  if (type !== undefined) return { ...schema, type: [type, "null"].flat() };
  return "$ref" in schema ? either(schema, { type: "null" }) : schema;
}
