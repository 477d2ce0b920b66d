import type { Selectable } from "kysely";
import { sql } from "kysely";
import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { flag, json, rowsOf } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.ts";
import type { Account } from "./schema.ts";

type Stored = Selectable<Tables["users"]>;
const users = rowsOf<Omit<Account, "hasPassword">>()(
  "users",
  ["id", "name", "kind", "role", "preferredWorkspace", "createdAt"],
  { hasGroupRole: flag, groups: json },
);

const select = (db: Queries) =>
  db
    .selectFrom("users")
    .select([...users.columns, sql<number>`password IS NOT NULL`.as("has_password")]);

const toAccount = (row: { has_password: number }): Account => ({
  ...users.toItem(row),
  hasPassword: row.has_password === 1,
});

/**
 * What is asked of a user for each call, with the version of the configuration that is in force; 0 is the
 * one that nobody changed.
 */
export interface Known {
  readonly user: Pick<Account, "id" | "name" | "kind" | "role" | "groups">;
  readonly configuration: number;
}

/** That of a user whose row a statement has, beside others. */
export const knownColumns = [
  "users.id as user_id",
  "users.name as user_name",
  "users.kind",
  "users.role",
  "users.groups",
] as const;
export const inForce = sql<number>`(SELECT coalesce(max(version), 0) FROM configurations)`.as(
  "configuration",
);

type KnownRow = Pick<Stored, "kind" | "role" | "groups"> & {
  readonly user_id: string;
  readonly user_name: string;
  readonly configuration: number;
};

export const toKnown = (row: KnownRow): Known => ({
  user: {
    ...{ id: row.user_id, name: row.user_name, kind: row.kind, role: row.role },
    groups: JSON.parse(row.groups),
  },
  configuration: row.configuration,
});

/** What is known of the user with this id. */
export async function findKnown(db: Queries, id: string): Promise<Known | undefined> {
  const [row] = await selectKnown(db, { id });
  return row && toKnown(row);
}

const selectKnown = statement((db: Queries, { id }: { readonly id: string }) =>
  db.selectFrom("users").select(knownColumns).select(inForce).where("id", "=", id),
);

/** The user with this id. */
export async function findUser(db: Queries, id: string): Promise<Account | undefined> {
  const row = await select(db).where("id", "=", id).executeTakeFirst();
  return row && toAccount(row);
}

/** The user of this name. */
export async function findUserByName(db: Queries, name: string): Promise<Account | undefined> {
  const row = await select(db).where("name", "=", name).executeTakeFirst();
  return row && toAccount(row);
}

/** A user with the hash of the password, if there is one. */
export interface WithPassword {
  readonly user: Account;
  readonly password: string | null;
}

/** Those users who have one of these names. */
export async function listNamed(db: Queries, names: readonly string[]): Promise<WithPassword[]> {
  const rows = await select(db).select("password").where("name", "in", among(names)).execute();
  return rows.map((row) => ({ user: toAccount(row), password: row.password }));
}

/** All users but service accounts, by name. */
export async function listUsers(db: Queries): Promise<Account[]> {
  const rows = await select(db).where("kind", "<>", "sa").orderBy("name").execute();
  return rows.map(toAccount);
}

/** Whether there is an administrator, other than a user; service accounts do not count. */
export async function hasAdmin(db: Queries, otherThan = ""): Promise<boolean> {
  const row = await db
    .selectFrom("users")
    .select("id")
    .where("role", "=", "admin")
    .where("kind", "<>", "sa")
    .where("id", "<>", otherThan)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** A user who is to be written down. */
export type NewAccount = Omit<Account, "hasPassword" | "hasGroupRole"> &
  Partial<Pick<Account, "hasGroupRole">>;

/** Writes a new user down; `password` is a hash. False when the name is taken. */
export const addUser = (
  db: Connection,
  user: NewAccount,
  password: string | null = null,
): Promise<boolean> => users.add(db, { hasGroupRole: false, ...user }, { password });

/** What may change of a user; `password` is a hash. */
export type UserChange = Partial<
  Pick<Account, "kind" | "role" | "hasGroupRole" | "groups"> & { readonly password: string }
>;

/** Writes what changed of a user. */
export const setUser = (
  db: Connection,
  id: string,
  { password, ...change }: UserChange,
): Promise<void> => users.change(db, { id }, change, password === undefined ? {} : { password });
