import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { listAfter } from "../../../control/audit/store.ts";
import { ensureFirstAdmin } from "../../../control/users/first-admin.ts";
import { hashPassword } from "../../../control/users/passwords.ts";
import { addUser, findUserByName, listUsers, setUser } from "../../../control/users/store.ts";
import { anAccount } from "../../helpers/users.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

const aWorld = (t: TestContext, firstAdmin: string) =>
  testWorld(t, { config: { login: ["password"], firstAdmin } });

test("the first administrator is created, and the start says that a password is missing", async (t) => {
  const { ctx, logged } = await aWorld(t, "ana");
  const warnings = () => logged.filter((line) => line.includes("has no password")).length;

  await ensureFirstAdmin(ctx);
  await ensureFirstAdmin(ctx);

  const [ana, ...others] = await listUsers(ctx.db);
  assert.partialDeepStrictEqual(ana, { name: "ana", role: "admin", kind: "basic" });
  assert.deepEqual([others, warnings()], [[], 2]);
  await setUser(writable(ctx), ana?.id ?? "", { password: await hashPassword("correct horse") });
  await ensureFirstAdmin(ctx);
  assert.equal(warnings(), 2, "once there is one, nothing is said");
});

test("a user who is there already is promoted, as long as there is no administrator", async (t) => {
  const { ctx } = await aWorld(t, "ana");
  await addUser(writable(ctx), anAccount({ name: "ana", role: "viewer" }));
  await addUser(writable(ctx), anAccount({ name: "sa:ci", kind: "sa", role: "admin" }));

  await ensureFirstAdmin(ctx);

  assert.equal((await findUserByName(ctx.db, "ana"))?.role, "admin");
  const entries = await listAfter(ctx.db, 0);
  assert.deepEqual(
    entries.map(({ operation, subject, credential }) => [operation, subject, credential]),
    [["users.update", "user ana: role admin", "settings"]],
  );
});

test("once there is an administrator, the setting changes nothing", async (t) => {
  const { ctx } = await aWorld(t, "ana");
  await addUser(writable(ctx), anAccount({ name: "ana", role: "user" }));
  await addUser(writable(ctx), anAccount({ name: "eve", role: "admin" }));

  await ensureFirstAdmin(ctx);

  assert.equal((await findUserByName(ctx.db, "ana"))?.role, "user");
});

test("an impossible name is refused with the setting's", async (t) => {
  const { ctx } = await aWorld(t, "sa:ci");

  await assert.rejects(ensureFirstAdmin(ctx), {
    type: "ConfigError",
    message: /FIRST_ADMIN: .*colon/,
  });
});
