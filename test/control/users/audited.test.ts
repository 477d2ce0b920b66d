import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenOperations as tokens } from "../../../contract/operations/tokens.ts";
import { userOperations as users } from "../../../contract/operations/users.ts";
import { findUserByName } from "../../../control/users/store.ts";
import { callers } from "../../helpers/logged-in.ts";

test("what is done to users and tokens is audited with their names, and without any secret", async (t) => {
  const { world, as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });
  const ana = await as({ name: "ana" });
  const password = "canary horse";

  await admin(users.create, { username: "bob", password, role: "viewer" });
  const bob = (await findUserByName(world.ctx.db, "bob"))?.id ?? "";
  await ana(users.update, { user_id: bob, password });
  await ana(users.update, { user_id: "ana", role: "admin" });
  await admin(users.update, { user_id: bob, role: "user", password });
  await admin(users.import, { csv_content: `username,password,role\ncleo,${password},` });
  await admin(users.delete, { user_id: bob });
  const made = (await ana(tokens.create, { token_name: "ci", role: "viewer" })).json as {
    token_id: string;
    token: string;
  };
  const { token_id } = made;
  const rotated = (await ana(tokens.rotate, { token_id })).json as { token: string };
  await ana(tokens.updateRole, { token_id, role: "admin" });
  await admin(tokens.delete, { token_id });

  const { db } = world.ctx;
  const entries = await db.selectFrom("audit").selectAll().orderBy("seq").execute();
  assert.deepEqual(
    entries.map((one) => [one.user_name, one.operation, one.subject, one.outcome]),
    [
      ["root", "users.create", "user bob: role viewer, password", "allowed"],
      ["ana", "users.update", `user ${bob} (bob): password`, "refused"],
      ["ana", "users.update", "user ana (ana): role admin", "refused"],
      ["root", "users.update", `user ${bob} (bob): role user, password`, "allowed"],
      ["root", "users.import", null, "allowed"],
      ["root", "users.import", "user cleo: role user, password", "allowed"],
      ["root", "users.delete", `user ${bob} (bob)`, "allowed"],
      ["ana", "tokens.create", "token ci: role viewer", "allowed"],
      ["ana", "tokens.rotate", `token ${token_id} (ci)`, "allowed"],
      ["ana", "tokens.update_role", `token ${token_id} (ci): role admin`, "refused"],
      ["root", "tokens.delete", `token ${token_id} (ci)`, "allowed"],
    ],
  );
  const written = JSON.stringify([entries, world.logged]);
  for (const secret of [password, made.token, rotated.token]) assert.ok(!written.includes(secret));
});
