import type { Seal } from "../../common/seal.ts";
import type { Connection, Queries } from "../db/open.ts";
import type { Owner, Scope, StoredSecret } from "./schema.ts";

/** Writes a secret, in place of one of that name. */
export async function putSecret(
  db: Connection,
  seal: Seal,
  { scope, owner, name, userName, updatedAt }: StoredSecret,
  value: string,
): Promise<void> {
  const values = { value: seal.seal(value), user_name: userName, updated_at: updatedAt };
  await db
    .insertInto("secrets")
    .values({ scope, owner, name, ...values })
    .onConflict((conflict) => conflict.columns(["scope", "owner", "name"]).doUpdateSet(values))
    .execute();
}

/** The value of a secret, for those who run a task with it. */
export async function findValue(
  db: Queries,
  seal: Seal,
  { scope, owner }: Owner,
  name: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom("secrets")
    .select("value")
    .where("scope", "=", scope)
    .where("owner", "=", owner)
    .where("name", "=", name)
    .executeTakeFirst();
  return row && seal.open(row.value);
}

/** The secrets of an owner, by name. */
export async function listSecrets(
  db: Queries,
  { scope, owner }: Owner<Scope>,
): Promise<StoredSecret<Scope>[]> {
  const rows = await db
    .selectFrom("secrets")
    .select(["name", "user_name", "updated_at"])
    .where("scope", "=", scope)
    .where("owner", "=", owner)
    .orderBy("name")
    .execute();
  return rows.map((row) => ({
    ...{ scope, owner, name: row.name },
    ...{ userName: row.user_name, updatedAt: row.updated_at },
  }));
}

/** Deletes a secret; false when there is none. */
export async function deleteSecret(
  db: Connection,
  { scope, owner }: Owner,
  name: string,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("secrets")
    .where("scope", "=", scope)
    .where("owner", "=", owner)
    .where("name", "=", name)
    .executeTakeFirstOrThrow();
  return numDeletedRows === 1n;
}

/** Deletes all secrets of some owners. */
export async function deleteSecretsOf(
  db: Connection,
  scope: Owner["scope"],
  owners: readonly string[],
): Promise<void> {
  await db.deleteFrom("secrets").where("scope", "=", scope).where("owner", "in", owners).execute();
}
