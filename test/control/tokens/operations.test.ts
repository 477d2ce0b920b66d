import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { tokenOperations as rows } from "../../../contract/operations/tokens.ts";
import { userOperations } from "../../../contract/operations/users.ts";
import { addCluster } from "../../../control/clusters/store.ts";
import { findUser } from "../../../control/users/store.ts";
import { aCluster } from "../../helpers/clusters.ts";
import { callers } from "../../helpers/logged-in.ts";
import { writable } from "../../helpers/writable.ts";

const dayMs = 86_400_000;

interface Made {
  readonly token_id: string;
  readonly token: string;
  readonly service_account_user_id: string;
  readonly expires_at: number | null;
}

/** An administrator, a user ana, and a token that ana made. */
async function bed(t: TestContext, days: number | null = null) {
  const all = await callers(t);
  const admin = await all.as({ name: "root", role: "admin" });
  const ana = await all.as({ name: "ana" });
  const bob = await all.as({ name: "bob" });
  const answer = await ana(rows.create, { token_name: " ci ", expires_in_days: days });
  assert.equal(answer.status, 200, answer.detail);
  const made = answer.json as Made;
  const bot = all.with(made.token);
  const whoAmI = (call: typeof bot) => call(userOperations.role, {});
  return { ...all, admin, ana, bob, bot, made, whoAmI, id: made.token_id };
}

test("a token is a service account of its own; its secret is shown once and stored nowhere", async (t) => {
  const { world, made, bot, bob, whoAmI } = await bed(t);

  assert.match(made.token, /^sky_outrigger_[\w-]{43}$/);
  assert.match(made.service_account_user_id, /^sa-[0-9a-f]{16}$/);
  assert.deepEqual((await whoAmI(bot)).json, {
    ...{ id: made.service_account_user_id, name: "sa:ci", role: "user" },
  });
  const { json } = await bob(rows.list, {});
  assert.partialDeepStrictEqual(
    (json as { token_name: string }[]).find(({ token_name }) => token_name === "ci"),
    {
      token_id: made.token_id,
      creator_user_hash: "ana",
      creator_name: "ana",
      service_account_user_id: made.service_account_user_id,
      service_account_name: "ci",
      service_account_roles: ["user"],
      expires_at: null,
    },
  );
  const secret = made.token.replace("sky_outrigger_", "");
  const stored = await world.ctx.db.selectFrom("tokens").selectAll().execute();
  const audited = await world.ctx.db.selectFrom("audit").selectAll().execute();
  const everywhere = JSON.stringify([json, stored, audited, world.logged]);
  assert.ok(!everywhere.includes(secret));
  const people = (await bob(userOperations.list, {})).json as { id: string }[];
  assert.ok(!people.some(({ id }) => id === made.service_account_user_id));
});

test("what makes no token is refused", async (t) => {
  const { ana, as } = await bed(t);
  const vic = await as({ name: "vic", role: "viewer" });

  for (const [input, message] of [
    [{ token_name: "" }, /begins with a letter/],
    [{ token_name: "1st" }, /begins with a letter/],
    [{ token_name: "ci:x" }, /begins with a letter/],
    [{ token_name: "ci" }, /is a token ci already/],
    [{ token_name: "x", expires_in_days: -1 }, /0 is never/],
    [{ token_name: "x", expires_in_days: 2_000_000_000 }, /up to 36500 days/],
    [{ token_name: "x", role: "boss" }, /no role "boss"/],
  ] as const) {
    const { status, detail } = await ana(rows.create, input);
    assert.equal(status, 400, detail);
    assert.match(detail, message);
  }
  assert.equal((await vic(rows.create, { token_name: "x" })).status, 403);
});

test("of creates of one name at the same time one succeeds, and the others leave nothing", async (t) => {
  const { ana, bob, world } = await bed(t);

  const answers = await Promise.all(
    [ana, bob, ana].map((one) => one(rows.create, { token_name: "same" })),
  );

  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
  const accounts = await world.ctx.db
    .selectFrom("users")
    .select("name")
    .where("kind", "=", "sa")
    .execute();
  assert.deepEqual(accounts.map(({ name }) => name).sort(), ["sa:ci", "sa:same"]);
});

test("an expired token is refused, and says that it has expired", async (t) => {
  const { world, bot, ana, id, made, whoAmI } = await bed(t, 7);
  assert.equal(made.expires_at, Math.floor((world.ctx.now().getTime() + 7 * dayMs) / 1_000));
  world.advance(7 * dayMs - 60_000);
  assert.equal((await whoAmI(bot)).status, 200);

  world.advance(60_000);

  const { status, detail } = await whoAmI(bot);
  assert.equal(status, 401);
  assert.match(detail, /token ci expired at/);
  const rotated = (await ana(rows.rotate, { token_id: id })).json as Made;
  const left = (rotated.expires_at ?? 0) - world.ctx.now().getTime() / 1_000;
  assert.ok(Math.abs(left - (30 * dayMs) / 1_000) < 60, `${left} s`);
});

test("rotation ends the old value at once, and the account stays what it is", async (t) => {
  const { world, ana, bot, made, id, whoAmI, with: having } = await bed(t, 7);
  await writable(world.ctx)
    .insertInto("sessions")
    .values({
      ...{ digest: Buffer.from("s"), user_id: made.service_account_user_id, method: "token" },
      ...{ created_at: 1, expires_at: 9 },
    })
    .execute();

  const answer = await ana(rows.rotate, { token_id: id });

  const rotated = answer.json as Made;
  assert.equal((await whoAmI(bot)).status, 401);
  assert.deepEqual((await whoAmI(having(rotated.token))).json, {
    ...{ id: made.service_account_user_id, name: "sa:ci", role: "user" },
  });
  assert.equal(rotated.expires_at, made.expires_at, "the time that is left stays");
  assert.ok(!("creator_user_id" in rotated));
  const sessions = await world.ctx.db.selectFrom("sessions").selectAll().execute();
  assert.deepEqual(sessions, [], "what the old value had opened");
  const endless = await ana(rows.rotate, { token_id: id, expires_in_days: 0 });
  assert.equal((endless.json as Made).expires_at, null);
  assert.equal((await ana(rows.rotate, { token_id: id, expires_in_days: -1 })).status, 400);
});

test("a deleted token is refused at once, and its account is gone", async (t) => {
  const { world, ana, bot, id, made, whoAmI } = await bed(t);

  const { status, json } = await ana(rows.delete, { token_id: id });

  assert.deepEqual([status, Object.keys(json)], [200, ["message"]]);
  assert.equal((await whoAmI(bot)).status, 401);
  assert.equal(await findUser(world.ctx.db, made.service_account_user_id), undefined);
  assert.equal((await ana(rows.delete, { token_id: id })).status, 404);
});

test("a token whose account owns something that lives stays", async (t) => {
  const { world, ana, bot, id, made, whoAmI } = await bed(t);
  const user = { id: made.service_account_user_id, name: "sa:ci" };
  await addCluster(writable(world.ctx), aCluster({ name: "dev", user }));

  const { status, detail } = await ana(rows.delete, { token_id: id });

  assert.equal(status, 400);
  assert.match(detail, /token ci still owns cluster dev/);
  assert.equal((await whoAmI(bot)).status, 200);
});

test("others see a token, and only its creator and administrators do something to it", async (t) => {
  const { admin, ana, bob, bot, id } = await bed(t);
  const calls = [
    [rows.getRole, {}],
    [rows.updateRole, { role: "viewer" }],
    [rows.rotate, {}],
    [rows.delete, {}],
  ] as const;
  const statusesOf = async (one: typeof bob) => {
    const statuses: number[] = [];
    for (const [row, more] of calls.slice(0, -1))
      statuses.push((await one(row, { token_id: id, ...more } as never)).status);
    return statuses;
  };

  for (const [row, more] of calls)
    for (const one of [bob, bot]) {
      const { status } = await one(row, { token_id: id, ...more } as never);
      assert.equal(status, 403, row.name);
    }
  assert.deepEqual(await statusesOf(ana), [200, 200, 200]);
  assert.deepEqual(await statusesOf(admin), [200, 200, 200]);
  assert.equal((await admin(rows.delete, { token_id: id })).status, 200);
  assert.equal((await admin(rows.getRole, { token_id: id })).status, 404);
});

test("a service account gets no role above its creator's, nor above the caller's", async (t) => {
  const { admin, ana, bot, id } = await bed(t);
  const roleOf = async () =>
    ((await ana(rows.getRole, { token_id: id })).json as { roles: string[] }).roles;
  const give = (by: typeof ana, role: string) => by(rows.updateRole, { token_id: id, role });

  assert.equal((await give(ana, "admin")).status, 403, "the creator's own role is lower");
  assert.equal((await give(bot, "admin")).status, 403, "it cannot raise itself");
  const byAdmin = await give(admin, "admin");
  assert.equal(byAdmin.status, 403);
  assert.match(byAdmin.detail, /ana has the role user/);
  assert.equal((await ana(rows.create, { token_name: "x", role: "admin" })).status, 403);
  assert.equal((await give(ana, "boss")).status, 400);
  assert.deepEqual(await roleOf(), ["user"]);

  const lowered = await give(ana, "viewer");
  assert.partialDeepStrictEqual(lowered.json, { token_id: id, new_role: "viewer" });
  assert.deepEqual(await roleOf(), ["viewer"]);
  const raised = await admin(rows.create, { token_name: "top", role: "admin" });
  assert.equal(raised.status, 200);
});

test("the usual role of a service account is no higher than its creator's", async (t) => {
  const { as, with: having } = await callers(t, { defaultRole: "admin" });
  const ana = await as({ name: "ana" });

  const { token } = (await ana(rows.create, { token_name: "ci" })).json as Made;

  const { json } = await having(token)(userOperations.role, {});
  assert.equal((json as { role: string }).role, "user");
});

test("service accounts lose a role with the user who made them, also those that they made", async (t) => {
  const { admin, as, with: having, whoAmI } = await bed(t);
  const eve = await as({ name: "eve", role: "admin" });
  const role = "admin";
  const first = (await eve(rows.create, { token_name: "a", role })).json as Made;
  const second = (await having(first.token)(rows.create, { token_name: "b", role })).json as Made;
  const roles = async () => {
    const answers = [await whoAmI(having(first.token)), await whoAmI(having(second.token))];
    return answers.map(({ json }) => (json as { role: string } | null)?.role);
  };
  assert.deepEqual(await roles(), ["admin", "admin"]);

  await admin(userOperations.update, { user_id: "eve", role: "viewer" });
  assert.deepEqual(await roles(), ["viewer", "viewer"]);
  await admin(userOperations.update, { user_id: "eve", role: "admin" });
  assert.deepEqual(await roles(), ["viewer", "viewer"], "they do not rise with it");
  await admin(userOperations.delete, { user_id: "eve" });

  assert.deepEqual(await roles(), [undefined, undefined], "deleted with the user");
});

test("the last use of a token is shown", async (t) => {
  const { world, ana, bot, whoAmI, id } = await bed(t);
  const lastUse = async () => {
    const tokens = (await ana(rows.list, {})).json as { token_id: string; last_used_at: number }[];
    return tokens.find(({ token_id }) => token_id === id)?.last_used_at;
  };
  assert.equal(await lastUse(), null);

  await whoAmI(bot);
  await world.ctx.batch(async () => {});

  const used = await lastUse();
  assert.ok(used && Math.abs(used - world.ctx.now().getTime() / 1_000) < 60);
});
