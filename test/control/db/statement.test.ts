import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { among } from "../../../control/db/lists.ts";
import { type Database, openDatabase, type Queries } from "../../../control/db/open.ts";
import { statement } from "../../../control/db/statement.ts";

type Given = { readonly id: string; readonly role: "admin" | "user" };

test("a statement is built once for all databases, and run with the values of each call", async (t) => {
  const [db, other] = [await withUsers(t), await withUsers(t)];
  let built = 0;
  const find = statement((queries: Queries, { id, role }: Given) => {
    built += 1;
    return queries.selectFrom("users").select("name").where("id", "=", id).where("role", "=", role);
  });

  const namesFor = async (given: Given, of = db) => (await find(of, given)).map(({ name }) => name);

  assert.deepEqual(await namesFor({ id: "u1", role: "user" }), ["ann"]);
  assert.deepEqual(await namesFor({ id: "u2", role: "admin" }, other), ["eve"]);
  assert.deepEqual(await namesFor({ id: "u1", role: "admin" }), []);
  assert.equal(built, 1);
});

test("a statement whose values come in another order than its record's is refused", async (t) => {
  const db = await withUsers(t);
  const find = statement((queries: Queries, { id, role }: Given) =>
    queries.selectFrom("users").select("name").where("role", "=", role).where("id", "=", id),
  );

  await assert.rejects(find(db, { id: "u1", role: "user" }), /another order/);
  assert.equal((await find(db, { role: "user", id: "u1" }))[0]?.name, "ann");
  await assert.rejects(find(db, { id: "u1", role: "user" }), /another order/);
});

test("a statement has a form for each choice, and is built once for each", async (t) => {
  const db = await withUsers(t);
  let built = 0;
  type Chosen = { readonly ids: readonly string[] | undefined; readonly adminsOnly: boolean };
  const list = statement((queries: Queries, { ids, adminsOnly }: Chosen) => {
    built += 1;
    let query = queries.selectFrom("users").select("name").orderBy("name");
    if (ids !== undefined) query = query.where("id", "in", among(ids));
    return adminsOnly ? query.where("role", "=", sql.lit("admin" as const)) : query;
  });

  const namesFor = async (given: Chosen) => (await list(db, given)).map(({ name }) => name);

  assert.deepEqual(await namesFor({ ids: undefined, adminsOnly: false }), ["ann", "eve"]);
  assert.deepEqual(await namesFor({ ids: undefined, adminsOnly: true }), ["eve"]);
  assert.deepEqual(await namesFor({ ids: ["u1", "u2"], adminsOnly: false }), ["ann", "eve"]);
  assert.deepEqual(await namesFor({ ids: ["u1"], adminsOnly: false }), ["ann"]);
  assert.equal(built, 3);
});

test("a statement does not wait for a connection that others hold outside transactions", async (t) => {
  const db = await withUsers(t);

  const names = await db.connection().execute(() => namesOf(db));

  assert.deepEqual(names, ["ann", "eve"]);
});

test("a statement does not see what a transaction has yet to commit", async (t) => {
  const db = await withUsers(t);
  let during: Promise<string[]> | undefined;

  const undone = db.transaction().execute(async (tx) => {
    await tx.deleteFrom("users").where("id", "=", "u1").execute();
    during = namesOf(db);
    assert.deepEqual(await namesOf(tx), ["eve"]);
    throw new Error("undone");
  });

  await assert.rejects(undone, /undone/);
  assert.deepEqual(await during, ["ann", "eve"]);
});

test("a statement in a transaction does not wait for what else that does", async (t) => {
  const db = await withUsers(t);

  const [before, after] = await db.transaction().execute(async (tx) => {
    const remove = (id: string) => tx.deleteFrom("users").where("id", "=", id).execute();
    const removing = [remove("u1"), remove("u2")];
    const before = await namesOf(tx);
    await Promise.all(removing);
    return [before, await namesOf(tx)];
  });

  assert.deepEqual([before, after], [["eve"], []]);
});

const selectNames = statement((queries: Queries) =>
  queries.selectFrom("users").select("name").orderBy("name"),
);
const namesOf = async (db: Queries) => (await selectNames(db, {})).map(({ name }) => name);

/** A database with a user, ann, and an administrator, eve. */
async function withUsers(t: TestContext): Promise<Database> {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  const user = {
    kind: "basic" as const,
    has_group_role: 0,
    groups: "[]",
    created_at: 0,
  };
  await db
    .insertInto("users")
    .values([
      { id: "u1", name: "ann", role: "user", ...user },
      { id: "u2", name: "eve", role: "admin", ...user },
    ])
    .execute();
  return db;
}
