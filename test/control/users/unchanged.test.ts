import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Role } from "../../../contract/roles.ts";
import type { Call } from "../../../control/bind.ts";
import type { Context } from "../../../control/context.ts";
import { approve, makeToken } from "../../../control/sessions/client-login.ts";
import { endSessionsOf } from "../../../control/sessions/store.ts";
import { tokenOperations } from "../../../control/tokens/operations.ts";
import { userOperations } from "../../../control/users/operations.ts";
import { giveRole } from "../../../control/users/roles.ts";
import { findUser, listUsers } from "../../../control/users/store.ts";
import { aCaller } from "../../helpers/callers.ts";
import { addCaller } from "../../helpers/users.ts";
import { testWorld } from "../../helpers/world.ts";
import { aClient, aSessionOf } from "../sessions/a-login.ts";

const password = "right horse battery";

/** Calls of ann that were let in, and what takes her rights away before they write. */
async function aRace(t: TestContext, role: Role = "admin") {
  const { ctx } = await testWorld(t, { config: { login: ["password"] } });
  await aSessionOf(ctx, { name: "root", role: "admin" });
  const session = await aSessionOf(ctx, { name: "ann", role });
  const { identity, origin } = aCaller({ user: { id: "ann", name: "ann" }, role });
  const call = {
    ...{ ...identity, credential: "session, password", origin: { ...origin, session } },
    signal: new AbortController().signal,
  } as Call;

  /** The context in which something happens right before the next write. */
  const after = (loss: () => Promise<void>): Context => ({
    ...ctx,
    batch: async (work) => {
      await loss();
      return ctx.batch(work);
    },
  });
  const demoted = after(() =>
    ctx.batch(async (tx) => {
      const ann = await findUser(tx, "ann");
      if (ann !== undefined) await giveRole(tx, ann, "viewer");
    }),
  );
  const loggedOut = after(() => ctx.batch((tx) => endSessionsOf(tx, "ann")));
  const run = (at: Context, name: string, input: object) =>
    [...userOperations, ...tokenOperations]
      .find(({ row }) => row.name === name)
      ?.run(at, input as never, call);
  return { ctx, call, demoted, loggedOut, run };
}

const csv = { csv_content: `username,password,role\neve,${password},admin` };
const changes = [
  ["users.create", { username: "eve", password, role: "admin" }],
  ["users.import", csv],
  ["users.update", { user_id: "ann", role: "admin", password }],
  ["tokens.create", { token_name: "eve", role: "admin", expires_in_days: null }],
] as const;

for (const [name, input] of changes)
  test(`${name} does not write with a role that was taken away meanwhile`, async (t) => {
    const { ctx, demoted, run } = await aRace(t);

    await assert.rejects(async () => run(demoted, name, input), { type: "PermissionDeniedError" });

    assert.equal((await findUser(ctx.db, "ann"))?.role, "viewer");
    assert.deepEqual(
      (await listUsers(ctx.db)).map((user) => user.name),
      ["ann", "root"],
    );
    assert.deepEqual(await ctx.db.selectFrom("tokens").selectAll().execute(), []);
  });

test("a session that ended meanwhile gives no password, no token and no other session", async (t) => {
  const { ctx, call, loggedOut, run } = await aRace(t, "user");
  const { challenge } = aClient();
  await addCaller(ctx, { name: "robot" });

  for (const attempt of [
    () => run(loggedOut, "users.update", { user_id: "ann", role: null, password }),
    () => run(loggedOut, "tokens.create", { token_name: "ci", role: null, expires_in_days: null }),
    () => run(loggedOut, "tokens.rotate", { token_id: "token-robot", expires_in_days: null }),
    () => run(loggedOut, "tokens.update_role", { token_id: "token-robot", role: "viewer" }),
    () => approve(loggedOut, { code_challenge: challenge }, call),
    () => makeToken(loggedOut, call),
  ])
    await assert.rejects(async () => attempt(), { type: "AuthenticationError" });

  assert.equal((await findUser(ctx.db, "ann"))?.hasPassword, false);
  assert.deepEqual(await ctx.db.selectFrom("approvals").selectAll().execute(), []);
  const tokens = await ctx.db.selectFrom("tokens").select(["id", "created_at"]).execute();
  assert.deepEqual(
    tokens.map(({ id, created_at: at }) => [id, at]),
    [["token-robot", 0]],
  );
  assert.equal((await findUser(ctx.db, "robot"))?.role, "user");
  const sessions = await ctx.db.selectFrom("sessions").select("user_id").execute();
  assert.deepEqual(
    sessions.map((session) => session.user_id),
    ["root"],
  );
});
