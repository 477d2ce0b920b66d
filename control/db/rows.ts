import type { Insertable, Selectable, Updateable } from "kysely";
import type { Seal } from "../../common/seal.ts";
import type { Tables } from "./tables.ts";

type Columns = Readonly<Record<string, unknown>>;

/** How a field is stored: in which columns, and as what. */
interface Stored {
  readonly columns: readonly string[];
  read(row: Columns): unknown;
  write(value: never): Columns;
}

/** A way to store a field, by the column of its name. */
type Way = (column: string) => Stored;

const plain: Way = (column) => ({
  columns: [column],
  read: (row) => row[column],
  write: (value) => ({ [column]: value }),
});

/** As JSON text; null is NULL. */
export const json: Way = (column) => ({
  columns: [column],
  read: ({ [column]: text }) => (text === null ? null : JSON.parse(String(text))),
  write: (value) => ({ [column]: value === null ? null : JSON.stringify(value) }),
});

/** As JSON text that only control can read. */
export const sealed =
  (seal: Seal): Way =>
  (column) => ({
    columns: [column],
    read: (row) => JSON.parse(seal.open(row[column] as Uint8Array)),
    write: (value) => ({ [column]: seal.seal(JSON.stringify(value)) }),
  });

/** A yes or no as 1 or 0. */
export const flag: Way = (column) => ({
  columns: [column],
  read: (row) => row[column] === 1,
  write: (value) => ({ [column]: value ? 1 : 0 }),
});

/** In a column of another name. */
export const named =
  (column: string, way: Way = plain): Way =>
  () =>
    way(column);

/** Id and name of a user, each in a column of its own. */
export const user: Way = () => ({
  columns: ["user_id", "user_name"],
  read: (row) => ({ id: row["user_id"], name: row["user_name"] }),
  write: ({ id, name }: Record<"id" | "name", unknown>) => ({ user_id: id, user_name: name }),
});

type ColumnOf<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? "" : "_"}${Lowercase<First>}${ColumnOf<Rest>}`
  : "";

const columnOf = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The fields of an item that are columns of a table as they are: `clusterId` is `cluster_id`. */
type PlainOf<Item, Row> = {
  [Field in keyof Item & string]: ColumnOf<Field> extends keyof Row
    ? Row[ColumnOf<Field>] extends Item[Field]
      ? Field
      : never
    : never;
}[keyof Item & string];

/**
 * How items are stored as rows of a table: the fields that are columns as they are, and for each other one the
 * way in which it is. A row has further columns where it must; `toRow` leaves out what is undefined.
 */
export const rowsOf =
  <Item extends object>() =>
  <Table extends keyof Tables, Plain extends PlainOf<Item, Selectable<Tables[Table]>>>(
    _table: Table,
    names: readonly Plain[],
    ways: Readonly<Record<Exclude<keyof Item & string, Plain>, Way>>,
  ) => {
    const fields = Object.entries<Way>({
      ...Object.fromEntries(names.map((name) => [name, plain])),
      ...ways,
    }).map(([name, way]) => [name, way(columnOf(name))] as const);
    function toRow(item: Partial<Item>): Columns {
      const given = fields.filter(([name]) => item[name as keyof Item] !== undefined);
      return Object.assign(
        {},
        ...given.map(([name, { write }]) => write(item[name as keyof Item] as never)),
      );
    }
    return {
      columns: fields.flatMap(([, { columns }]) => columns) as (keyof Selectable<Tables[Table]>)[],
      toItem(row: object): Item {
        const item: Record<string, unknown> = {};
        for (const [name, { read }] of fields) item[name] = read(row as Columns);
        return item as Item;
      },
      toRow: (item: Item) => toRow(item) as Insertable<Tables[Table]>,
      toChange: (change: Partial<Item>) => toRow(change) as Updateable<Tables[Table]>,
    };
  };
