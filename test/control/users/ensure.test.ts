import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { endSessionsOf } from "../../../control/sessions/store.ts";
import { ensureUser } from "../../../control/users/ensure.ts";
import { addUser, findUser, findUserByName, setUser } from "../../../control/users/store.ts";
import { anAccount } from "../../helpers/users.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

const settings = { adminGroups: ["ops"], viewerGroups: ["guests"] } as const;

const aWorld = async (t: TestContext, config = {}) =>
  (await testWorld(t, { config: { adminGroups: ["ops"], viewerGroups: ["guests"], ...config } }))
    .ctx;

const login = (name: string, ...groups: string[]) => ({ name, kind: "sso", groups }) as const;

test("a first login creates the user with the role of its groups", async (t) => {
  const ctx = await aWorld(t);

  const ana = await ensureUser(ctx, login("ana@lab.org", "ops", "guests"));
  const gus = await ensureUser(ctx, login("gus", "guests", "x"));
  const una = await ensureUser(ctx, login("una"));

  assert.deepEqual([ana.role, gus.role, una.role], ["admin", "viewer", "user"]);
  assert.match(ana.id, /^[0-9a-f]{16}$/);
  assert.deepEqual(await findUserByName(ctx.db, "gus"), gus);
  assert.deepEqual(await ensureUser(ctx, login("una")), una, "who comes again is the same user");
});

test("of more groups than are kept, those that decide the role stay", async (t) => {
  const ctx = await aWorld(t);
  const many = Array.from({ length: 300 }, (_, at) => `a${at}`);

  const gus = await ensureUser(ctx, login("gus", ...many, "guests"));

  assert.deepEqual([gus.role, gus.groups.length], ["viewer", 200]);
  assert.ok(gus.groups.includes("guests"));
  assert.deepEqual(await ensureUser(ctx, login("gus", ...many, "guests")), gus);
});

test("each later login brings the groups and the role that they have now", async (t) => {
  const ctx = await aWorld(t);
  const { id } = await ensureUser(ctx, login("ana", "ops"));
  const roleAfter = async (...groups: string[]) => {
    await ensureUser(ctx, login("ana", ...groups));
    const user = await findUser(ctx.db, id);
    assert.deepEqual(user?.groups, groups);
    return user?.role;
  };

  assert.equal(await roleAfter("guests"), "viewer");
  assert.equal(await roleAfter(), "user", "a role that a group gave goes with it");
  await setUser(writable(ctx), id, { role: "admin" });
  assert.equal(await roleAfter("x"), "admin", "a role that an administrator gave stays");
});

test("a group that the settings no longer name gives no role any more", async (t) => {
  const ctx = await aWorld(t);
  await ensureUser(ctx, login("ana", "ops"));

  const without = { ...ctx, config: { ...ctx.config, ...settings, adminGroups: [] } } as never;

  assert.equal((await ensureUser(without, login("ana", "ops"))).role, "user");
});

test("many first logins at once are one user", async (t) => {
  const ctx = await aWorld(t);

  const users = await Promise.all(Array.from({ length: 8 }, () => ensureUser(ctx, login("ana"))));

  assert.equal(new Set(users.map(({ id }) => id)).size, 1);
});

test("a user without a password may come by any login, one with a password by no other", async (t) => {
  const ctx = await aWorld(t);
  await addUser(writable(ctx), anAccount({ name: "ana", role: "admin" }));
  await addUser(writable(ctx), anAccount({ name: "bob" }), "$scrypt$...");

  const ana = await ensureUser(ctx, login("ana"));

  assert.partialDeepStrictEqual(ana, { id: "ana", role: "admin", kind: "sso" });
  await assert.rejects(ensureUser(ctx, login("bob")), { type: "PermissionDeniedError" });
});

test("nobody logs in under a name that cannot be", async (t) => {
  const ctx = await aWorld(t);
  const odd = ["", " ana", "ana\n", "sa:ci", "a:b", "=1+1", "+ana", "-ana", "@ana", "a\u202eb"];

  for (const name of [...odd, "x".repeat(257)])
    await assert.rejects(ensureUser(ctx, login(name)), { type: "ValueError" }, name);
});

test("all sessions of a user end, but for the one that is kept", async (t) => {
  const ctx = await aWorld(t);
  const db = writable(ctx);
  for (const [id, by] of [
    ["1", "ana"],
    ["2", "ana"],
    ["3", "bob"],
  ] as const)
    await db
      .insertInto("sessions")
      .values({
        digest: Buffer.from(id),
        user_id: by,
        method: "password",
        created_at: 1,
        expires_at: 2,
      })
      .execute();
  await db
    .insertInto("approvals")
    .values({ challenge: "c", user_id: "ana", method: "password", expires_at: 2 })
    .execute();
  const left = async () => {
    const rows = await db.selectFrom("sessions").select("digest").orderBy("digest").execute();
    return rows.map(({ digest }) => Buffer.from(digest).toString()).join("");
  };

  await endSessionsOf(db, "ana", Buffer.from("2"));
  assert.equal(await left(), "23");
  await endSessionsOf(db, "ana");

  assert.equal(await left(), "3");
  assert.deepEqual(await db.selectFrom("approvals").selectAll().execute(), []);
});
