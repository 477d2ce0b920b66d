/** A JSON Schema, draft 7. */
export type Schema = Readonly<Record<string, unknown>>;

/** The names of a table of readers that a user may write. */
export type Written<Readers, Internal extends string = never> = Exclude<
  keyof Readers & string,
  `_${string}` | Internal
>;

export const anything: Schema = {};
export const text: Schema = { type: "string" };
/** Text, or a number or boolean taken as it is written. */
export const written: Schema = { type: ["string", "number", "boolean"] };
export const mapping: Schema = { type: "object" };

/** `yes`, `no`, `on` and `off` are booleans in older YAML. */
export const flag: Schema = {
  type: ["boolean", "string"],
  pattern: anyCase(["yes", "no", "on", "off"]),
};

/** A script: text, or a list of lines. */
export const script: Schema = either(text, listOf(text));

export const number = (bounds: Schema = {}): Schema => ({ type: "number", ...bounds });
export const integer = (minimum: number, maximum?: number): Schema => ({
  type: "integer",
  minimum,
  ...(maximum !== undefined && { maximum }),
});

/** A number, or text of this form. */
export const amount = (pattern: RegExp): Schema => ({
  type: ["number", "string"],
  pattern: pattern.source,
});

/** One of the names, in any letter case; editors suggest them as they stand here. */
export const choice = (...names: readonly string[]): Schema =>
  either({ enum: names }, { type: "string", pattern: anyCase(names) });

export function either(...schemas: readonly Schema[]): Schema {
  return { anyOf: schemas };
}

export function listOf(items: Schema): Schema {
  return { type: "array", items };
}

export const mapOf = (values: Schema): Schema => ({ type: "object", additionalProperties: values });

/** A mapping of these fields and no others; a field may be left empty. */
export const fields = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
  descriptions: Readonly<Record<string, string>> = {},
): Schema => ({
  type: "object",
  ...(required.length > 0 && { required }),
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const description = descriptions[name];
      return [name, { ...(description !== undefined && { description }), ...orEmpty(schema) }];
    }),
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

function anyCase(names: readonly string[]): string {
  const letter = (one: string) =>
    /[a-z]/i.test(one) ? `[${one.toLowerCase()}${one.toUpperCase()}]` : one;
  return `^(?:${names.map((name) => [...name].map(letter).join("")).join("|")})$`;
}
