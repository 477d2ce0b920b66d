import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenOperations as tokenRows } from "../../../contract/operations/tokens.ts";
import { userOperations as rows } from "../../../contract/operations/users.ts";
import { addCluster } from "../../../control/clusters/store.ts";
import { addRequest } from "../../../control/requests/store.ts";
import { addService } from "../../../control/services/store.ts";
import { verifyPassword } from "../../../control/users/passwords.ts";
import { findUser, findUserByName } from "../../../control/users/store.ts";
import { aCluster } from "../../helpers/clusters.ts";
import { callers } from "../../helpers/logged-in.ts";
import { writable } from "../../helpers/writable.ts";
import { aService } from "../services/rows.ts";

const password = "correct horse";

test("an administrator creates a user, who logs in with the password and is in the list", async (t) => {
  const { world, as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });

  const answer = await admin(rows.create, { username: "ana", password, role: null });

  assert.deepEqual([answer.status, answer.json], [200, null]);
  const ana = await verifyPassword(world.ctx, "ana", password);
  assert.equal(ana?.role, "user");
  const { json } = await admin(rows.list, {});
  assert.partialDeepStrictEqual(json, [
    { id: ana.id, name: "ana", role: "user", user_type: "basic", has_password: true },
    { name: "root", role: "admin", has_password: false },
  ]);
});

test("a user is refused that says nothing, exists, or has a role that there is not", async (t) => {
  const { as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });
  const create = (username: string, secret = password, role: string | null = null) =>
    admin(rows.create, { username, password: secret, role });

  for (const [answer, message] of [
    [await create(""), /needs a name/],
    [await create("=cmd|' /C calc'!A0"), /formula/],
    [await create("sa:ci"), /colon/],
    [await create("root"), /user root already exists/],
    [await create("ana", ""), /8 to 256 characters/],
    [await create("ana", password, "boss"), /no role "boss"; expected one of admin, user, viewer/],
  ] as const) {
    assert.equal(answer.status, 400, answer.detail);
    assert.match(answer.detail, message);
  }
  const { json } = await admin(rows.list, {});
  assert.equal((json as []).length, 1);
});

test("of creates of one name at the same time one succeeds", async (t) => {
  const { as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });

  const answers = await Promise.all(
    [1, 2, 3].map((n) => admin(rows.create, { username: "ana", password: `${password} ${n}` })),
  );

  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
});

test("others than administrators change their own password and nothing else", async (t) => {
  const { world, as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });
  const ana = await as({ name: "ana" });
  const vic = await as({ name: "vic", role: "viewer" });

  const own = [
    await ana(rows.update, { user_id: "ana", password }),
    await ana(rows.update, { user_id: "ana", password, role: "user" }),
    await vic(rows.update, { user_id: "vic", password }),
  ];
  const refused = [
    await ana(rows.update, { user_id: "root", password }),
    await ana(rows.update, { user_id: "nobody", password }),
    await ana(rows.update, { user_id: "ana", role: "admin" }),
    await ana(rows.update, { user_id: "ana", role: "viewer" }),
    await vic(rows.update, { user_id: "vic", role: "user" }),
    await ana(rows.create, { username: "x", password }),
    await ana(rows.delete, { user_id: "vic" }),
    await ana(rows.export, {}),
    await ana(rows.import, { csv_content: "username,password,role\n" }),
  ];

  assert.deepEqual(
    own.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 403),
  );
  assert.ok(await verifyPassword(world.ctx, "vic", password));
  assert.equal((await admin(rows.update, { user_id: "ana", role: "viewer" })).status, 200);
  assert.equal((await findUser(world.ctx.db, "ana"))?.role, "viewer");
});

test("what cannot be changed is said", async (t) => {
  const { as, world } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });
  await as({ name: "olga", kind: "sso" });
  await as({ name: "sa:ci", id: "sa-1", kind: "sa" });

  for (const [input, message] of [
    [{ user_id: "nobody", role: "user" }, /there is no user nobody/],
    [{ user_id: "olga", role: "boss" }, /no role "boss"/],
    [{ user_id: "olga", password: "short" }, /8 to 256/],
    [{ user_id: "olga", password }, /olga logs in through another provider/],
    [{ user_id: "sa-1", role: "admin" }, /service account; change or delete its token/],
  ] as const) {
    const { status, detail } = await admin(rows.update, input);
    assert.equal(status, 400);
    assert.match(detail, message);
  }
  assert.equal((await findUserByName(world.ctx.db, "olga"))?.hasPassword, false);
});

test("a new password ends the other sessions of the user", async (t) => {
  const { world, as } = await callers(t);
  const ana = await as({ name: "ana" });
  const sessions = () => world.ctx.db.selectFrom("sessions").select("user_id").execute();
  const db = writable(world.ctx);
  for (const user_id of ["ana", "bob"])
    await db
      .insertInto("sessions")
      .values({ digest: Buffer.from(user_id), user_id, method: "x", created_at: 1, expires_at: 9 })
      .execute();

  await ana(rows.update, { user_id: "ana", password });

  assert.deepEqual(
    (await sessions()).map(({ user_id }) => user_id),
    ["bob"],
  );
});

test("a deleted user is out at once, with tokens and sessions", async (t) => {
  const { world, as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });
  const ana = await as({ name: "ana" });
  assert.equal((await ana(rows.role, {})).status, 200);

  const deleted = await admin(rows.delete, { user_id: "ana" });

  assert.deepEqual([deleted.status, deleted.json], [200, null]);
  assert.equal((await ana(rows.role, {})).status, 401);
  assert.equal(await findUser(world.ctx.db, "ana"), undefined);
  assert.equal((await admin(rows.delete, { user_id: "ana" })).status, 400);
});

test("a user who owns something that lives is not deleted, and it is named", async (t) => {
  const { world, as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });
  const ana = await as({ name: "ana" });
  const made = await ana(tokenRows.create, { token_name: "ci" });
  const { service_account_user_id: account } = made.json as { service_account_user_id: string };
  const db = writable(world.ctx);
  const user = { id: "ana", name: "ana" };
  await addCluster(db, aCluster({ id: "a", name: "dev", user: { id: account, name: "sa:ci" } }));
  await addCluster(db, aCluster({ id: "b", name: "old", status: "GONE", wanted: "GONE", user }));
  await addService(db, aService({ user }));
  await addService(db, aService({ id: "s2", name: "warm", isPool: true, user }));
  await addRequest(db, {
    ...{ id: "0123456789", name: "launch", queue: "long", workspace: "default", credential: "" },
    ...{ userId: "ana", userName: "ana", clusterName: null, clientApi: null, createdAt: 1 },
    input: new Uint8Array(),
  });

  const { status, detail } = await admin(rows.delete, { user_id: "ana" });

  assert.equal(status, 400);
  assert.match(
    detail,
    /^ana still owns service chat, pool warm, cluster dev, request 01234567 \(launch\); end these first/,
  );
  assert.equal((await ana(rows.role, {})).status, 200, "nothing was ended");
});

test("the last administrator is neither deleted nor demoted", async (t) => {
  const { as } = await callers(t);
  const admin = await as({ name: "root", role: "admin" });
  await as({ name: "sa:ci", id: "sa-1", kind: "sa", role: "admin" });
  const demote = () => admin(rows.update, { user_id: "root", role: "user" });

  for (const { status, detail } of [
    await admin(rows.delete, { user_id: "root" }),
    await demote(),
  ]) {
    assert.equal(status, 400);
    assert.match(detail, /root is the last administrator/);
  }
  await as({ name: "eve", role: "admin" });

  assert.equal((await demote()).status, 200, "with another administrator it is");
});

test("the caller learns who it is", async (t) => {
  const { as } = await callers(t);
  const vic = await as({ name: "vic", id: "v1", role: "viewer" });

  assert.deepEqual((await vic(rows.role, {})).json, { id: "v1", name: "vic", role: "viewer" });
});
