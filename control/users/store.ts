import { type Selectable, sql } from "kysely";
import type { Connection, Queries } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";
import type { Account } from "./schema.ts";

type Row = Selectable<Tables["users"]>;

const columns = [
  ...["id", "name", "kind", "role", "groups", "preferred_workspace", "created_at"],
] as const satisfies (keyof Row)[];

/** A user, with the version of the configuration that is in force; 0 is the one that nobody changed. */
export async function findKnown(
  db: Queries,
  id: string,
): Promise<{ user: Account; configuration: number } | undefined> {
  const row = await db
    .selectFrom("users")
    .select([
      ...columns,
      sql<number>`(SELECT coalesce(max(version), 0) FROM configurations)`.as("configuration"),
    ])
    .where("id", "=", id)
    .executeTakeFirst();
  return row && { user: toAccount(row), configuration: row.configuration };
}

/** Writes a new user down; `password` is a hash. */
export async function addUser(
  db: Connection,
  { groups, preferredWorkspace, createdAt, ...user }: Account,
  password: string | null = null,
): Promise<void> {
  await db
    .insertInto("users")
    .values({
      ...user,
      password,
      groups: JSON.stringify(groups),
      preferred_workspace: preferredWorkspace,
      created_at: createdAt,
    })
    .execute();
}

const toAccount = (row: Pick<Row, (typeof columns)[number]>): Account => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  role: row.role,
  groups: JSON.parse(row.groups),
  preferredWorkspace: row.preferred_workspace,
  createdAt: row.created_at,
});
