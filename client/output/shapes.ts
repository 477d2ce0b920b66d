import * as z from "zod";

/** A text, or null. */
export const text = z.string().nullable();

/** An instant as RFC 3339 writes it, in UTC. */
export const instant = z.iso.datetime();

/** The instant of Unix seconds; null where there is none. */
export const instantOf = (seconds: number | null | undefined): string | null =>
  seconds === null || seconds === undefined || seconds < 0
    ? null
    : new Date(seconds * 1_000).toISOString();

/** How a record of control is shown as JSON. */
export interface Form<Record, Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  readonly of: (record: Record) => z.output<Schema>;
}

/** A form; its function must answer what its schema says. Without one, records are shown as they are. */
export const form = <Schema extends z.ZodObject, Record = z.output<Schema>>(
  schema: Schema,
  of: (record: Record) => z.output<Schema> = (record) => record as z.output<Schema>,
): Form<Record, Schema> => ({ schema, of });

/** A field that is read from a record otherwise than by its name. */
interface Field<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  readonly read: (record: never) => z.output<Schema>;
}

/** How the fields of a form are read from records. */
export interface Ways<Record> {
  of<Schema extends z.ZodType>(
    schema: Schema,
    read: (record: Record) => z.output<Schema>,
  ): Field<Schema>;
  /** An instant, which the record has in Unix seconds. */
  when(
    read: (record: Record) => number | null | undefined,
    means?: string,
  ): Field<z.ZodNullable<typeof instant>>;
}

const ways: Ways<never> = {
  of: (schema, read) => ({ schema, read }),
  when(read, means) {
    const schema = instant.nullable();
    return {
      schema: means === undefined ? schema : schema.describe(means),
      read: (record) => instantOf(read(record)),
    };
  },
};

type Fields = Readonly<{ [name: string]: z.ZodType | Field }>;

type ShapeOf<Given extends Fields> = {
  -readonly [Name in keyof Given]: Given[Name] extends z.ZodType
    ? Given[Name]
    : Given[Name] extends Field<infer Schema>
      ? Schema
      : never;
};

/** Fields that are a schema alone, with what a record has of their name; null where it has nothing. */
type SameIn<Record, Given extends Fields> = {
  [Name in keyof Given]: Given[Name] extends z.ZodType
    ? Name extends keyof Record
      ?
          | Exclude<Record[Name], undefined>
          | (undefined extends Record[Name] ? null : never) extends z.output<Given[Name]>
        ? Given[Name]
        : never
      : never
    : Given[Name];
};

/** A form whose fields are given one by one: a schema alone is the field of its name. */
export function formOf<Record extends object, Given extends Fields>(
  tell: (ways: Ways<Record>) => Given & SameIn<Record, Given>,
): Form<Record, z.ZodObject<ShapeOf<Given>, z.core.$strict>> {
  const fields = Object.entries<z.ZodType | Field>(tell(ways as Ways<Record>)).map(
    ([name, given]) => {
      const read = (record: Record) => record[name as keyof Record] ?? null;
      return given instanceof z.ZodType ? { name, schema: given, read } : { name, ...given };
    },
  );
  const shape = Object.fromEntries(fields.map(({ name, schema }) => [name, schema]));
  return {
    schema: z.strictObject(shape as ShapeOf<Given>),
    of: (record) =>
      Object.fromEntries(fields.map(({ name, read }) => [name, read(record as never)])) as never,
  };
}

/** Where something runs: `aws/us-east-1`, `local`; null when that is not known. */
export const infraOf = (
  cloud: string | null | undefined,
  region?: string | null | undefined,
): string | null => [cloud?.toLowerCase(), region].filter(Boolean).join("/") || null;
