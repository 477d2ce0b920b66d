import {
  type ExpressionBuilder,
  type Insertable,
  type Selectable,
  sql,
  type Updateable,
} from "kysely";
import type { Seal } from "../../common/seal.ts";
import { blankOf } from "./blank.ts";
import type { ColumnOf } from "./columns.ts";
import type { Connection, Queries } from "./open.ts";
import { type Fields, statement } from "./statement.ts";
import type { Tables } from "./tables.ts";

/** Some columns of a row. */
export type Columns = Readonly<Record<string, unknown>>;

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
  read: ({ [column]: text }) => (typeof text === "string" ? JSON.parse(text) : text),
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

/** With what rows of older versions lack. */
export const completed =
  (way: Way, complete: (value: Readonly<Columns> | null) => unknown): Way =>
  (column) => {
    const stored = way(column);
    return { ...stored, read: (row) => complete(stored.read(row) as Columns | null) };
  };

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
 * way in which it is. A row has further columns where it must. What is undefined is not written, and finds no row:
 * it is a mistake, which throws.
 */
export const rowsOf =
  <Item extends object>() =>
  <Table extends keyof Tables, Plain extends PlainOf<Item, Selectable<Tables[Table]>>>(
    table: Table,
    names: readonly Plain[],
    ways: Readonly<Record<Exclude<keyof Item & string, Plain>, Way>>,
  ) => {
    type Change = Updateable<Tables[Table]>;
    const fields = Object.entries<Way>({
      ...Object.fromEntries(names.map((name) => [name, plain])),
      ...ways,
    }).map(([name, way]) => [name, way(columnOf(name))] as const);
    const columns = fields.flatMap(([, one]) => one.columns) as (keyof Selectable<Tables[Table]>)[];

    const storedAs = new Map<string, Stored>(fields);
    function toColumns(item: Partial<Item>): Columns {
      const row = {};
      for (const [name, value] of Object.entries(item))
        if (value !== undefined) Object.assign(row, storedAs.get(name)?.write(value as never));
      return row;
    }
    const blank = blankOf(fields.map(([name]) => name));
    /** Fields whose columns were not read are undefined. */
    function toItem(row: object): Item {
      const item = { ...blank };
      for (const [name, { read }] of fields) item[name] = read(row as Columns);
      return item as Item;
    }
    const toRow = (item: Item) => toColumns(item) as Insertable<Tables[Table]>;
    /** What says which rows are meant, as fields of a statement. */
    function at(where: Partial<Item>): Fields {
      const values = Object.values(where);
      if (values.length === 0 || values.includes(undefined))
        throw new Error(`which rows of ${table} is not said: ${Object.keys(where)}`);
      const columns = Object.entries(toColumns(where));
      // One that is null makes another statement.
      return Object.fromEntries(
        columns.map(([name, value]) => [`at ${name}`, value ?? undefined]),
      ) as Fields;
    }
    const hasAll = (given: Fields) => (row: Comparing) =>
      row.and(
        fieldsAfter("at ", given).map(([column, value]) =>
          row(column as "id", value === undefined ? "is" : "=", (value ?? null) as never),
        ),
      );

    const insert = statement((db: Connection, row: Fields) =>
      db
        .insertInto(table)
        .values(row as Insertable<Tables[Table]>)
        .onConflict((conflict) => conflict.doNothing())
        .returning(sql<number>`1`.as("is_new")),
    );
    const select = statement((db: Queries, where: Fields) =>
      db
        .selectFrom(table as Any)
        .select(columns as never)
        .where(hasAll(where)),
    );
    const update = statement((db: Connection, given: Fields) =>
      db
        .updateTable(table as Any)
        .set(Object.fromEntries(fieldsAfter("to ", given)))
        .where(hasAll(given)),
    );
    const erase = statement((db: Connection, where: Fields) =>
      db.deleteFrom(table as Any).where(hasAll(where)),
    );

    return {
      columns,
      toColumns,
      toItem,
      toRow,
      /** Writes a new row; false where one has its key. */
      async add(db: Connection, item: Item, more: Change = {} as Change): Promise<boolean> {
        return (await insert(db, { ...toRow(item), ...more } as Fields)).length === 1;
      },
      /** The item with these values. */
      async find(db: Queries, where: Partial<Item>): Promise<Item | undefined> {
        const [row] = await select(db, at(where));
        return row && toItem(row);
      },
      /** Writes what changes of the items with these values. */
      async change(
        db: Connection,
        where: Partial<Item>,
        change: Partial<Item>,
        more: Change = {} as Change,
      ): Promise<void> {
        const set = Object.entries({ ...toColumns(change), ...more });
        if (set.length === 0) return;
        const changed = Object.fromEntries(set.map(([name, value]) => [`to ${name}`, value]));
        await update(db, { ...changed, ...at(where) } as Fields);
      },
      /** Deletes the rows of the items with these values. */
      async drop(db: Connection, where: Partial<Item>): Promise<void> {
        await erase(db, at(where));
      },
    };
  };

/** The fields of a statement whose names begin so, without that. */
const fieldsAfter = (prefix: string, given: Fields) =>
  Object.entries(given).flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
  );

/** What the statements above are checked as: they have the columns of every table. */
type Any = "services";
type Comparing = ExpressionBuilder<Tables, Any>;
