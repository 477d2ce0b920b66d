/** The column of a field: `clusterId` is `cluster_id`. */
export type ColumnOf<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? "" : "_"}${Lowercase<First>}${ColumnOf<Rest>}`
  : "";

/** How a value is stored: a yes or no as 1 or 0, and what is no plain value as JSON. */
type Stored<Value> = Value extends boolean ? number : Value extends object ? string : Value;

/** The columns of the fields of an item. */
export type ColumnsOf<Item> = {
  -readonly [Field in keyof Item & string as ColumnOf<Field>]: Stored<Item[Field]>;
};
