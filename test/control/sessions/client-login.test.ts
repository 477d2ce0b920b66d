import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { collectSessions } from "../../../control/sessions/collect.ts";
import { endSessionsOf } from "../../../control/sessions/store.ts";
import { testWorld } from "../../helpers/world.ts";
import {
  aClient,
  aSessionOf,
  challengeOf,
  cookieWith,
  loginIn,
  loginsIn,
  reasonsIn,
} from "./a-login.ts";

const authorize = "/api/v1/auth/authorize";
const tokenAt = (verifier: string) => `/api/v1/auth/token?code_verifier=${verifier}`;
const approvedForMs = 300_000;

/** A control plane with a user who has logged in with a browser. */
async function aWorld(t: TestContext) {
  const world = await testWorld(t, { config: { login: ["password"] } });
  const headers = cookieWith(await aSessionOf(world.ctx, { name: "ann" }));
  const approve = (code_challenge: string) =>
    world.http("POST", authorize, { body: { code_challenge }, headers });
  return { ...world, approve, headers };
}

test("a client gets a session of its own once its login is approved, and once only", async (t) => {
  const world = await aWorld(t);
  const { verifier, challenge } = aClient();

  const early = await world.http("GET", tokenAt(verifier));
  assert.deepEqual([early.status, early.json["type"]], [404, "NotFoundError"]);
  assert.deepEqual((await world.approve(challenge)).json, { status: "authorized" });
  const fetched = await world.http("GET", tokenAt(verifier));
  assert.equal(fetched.status, 200);
  assert.equal((await world.http("GET", tokenAt(verifier))).status, 404, "it is fetched once");

  const { user, secret } = loginIn(fetched);
  assert.equal(user, "ann");
  assert.notEqual(`other=1; outrigger_session=${secret}`, world.headers.cookie);
  for (const headers of [cookieWith(secret), { authorization: `Bearer ${secret}` }])
    assert.equal((await world.http("GET", "/users/role", { headers })).json["id"], "ann");
  assert.deepEqual(await loginsIn(world.ctx), [
    "login allowed user ann, password",
    "login.approve allowed user ann, password",
    "login allowed user ann, password",
    "login refused user ann, client",
  ]);
});

test("another verifier, an approval that is too old, and one of a user who was logged out get nothing", async (t) => {
  const world = await aWorld(t);
  const [late, ended] = [aClient(), aClient()];
  const statusOf = async (verifier: string) => (await world.http("GET", tokenAt(verifier))).status;

  await world.approve(late.challenge);
  assert.equal(await statusOf(late.challenge), 404, "the challenge is no verifier");
  assert.equal(await statusOf(aClient().verifier), 404);
  world.advance(approvedForMs);
  assert.equal(await statusOf(late.verifier), 404);
  const [challenge, expired] = await reasonsIn(world.ctx);
  assert.match(challenge ?? "", /^the challenge was sent in place of its verifier/);
  assert.match(
    expired ?? "",
    /^this login was already fetched, or not fetched within five minutes/,
  );

  await world.approve(ended.challenge);
  await world.ctx.batch((tx) => endSessionsOf(tx, "ann"));
  assert.equal(await statusOf(ended.verifier), 404);
});

test("what is no challenge, and no verifier, is refused with 400", async (t) => {
  const world = await aWorld(t);

  for (const challenge of [
    "",
    "short",
    `${"a".repeat(42)}=`,
    "a".repeat(44),
    `${"a".repeat(42)}\n`,
  ])
    assert.equal((await world.approve(challenge)).status, 400, JSON.stringify(challenge));
  assert.deepEqual(
    (await loginsIn(world.ctx)).slice(1),
    Array(5).fill("login.approve refused user ann, password"),
  );
  for (const path of ["/api/v1/auth/token", tokenAt("")])
    assert.equal((await world.http("GET", path)).status, 400, path);
});

test("only a person who has logged in approves a login", async (t) => {
  const world = await aWorld(t);
  const { verifier, challenge } = aClient();
  const body = { code_challenge: challenge };
  const robot = await world.as("robot");

  assert.equal((await world.http("POST", authorize, { body })).status, 401);
  assert.equal((await robot.http("POST", authorize, { body })).status, 403);
  assert.equal((await world.http("GET", tokenAt(verifier))).status, 404);
});

test("a session ends by its time, and at once when its user logs out", async (t) => {
  const world = await aWorld(t);
  const roleWith = async (headers: Record<string, string>) =>
    (await world.http("GET", "/users/role", { headers })).status;
  const other = cookieWith(await aSessionOf(world.ctx, { name: "bob" }));

  const out = await world.http("POST", "/logout", { headers: world.headers });
  assert.match(
    String(out.headers["set-cookie"]),
    /^outrigger_session=; Path=\/; Max-Age=0; HttpOnly/,
  );
  assert.equal(await roleWith(world.headers), 401);
  assert.equal(await roleWith(other), 200);
  world.advance(world.ctx.config.sessionHours * 3_600_000);
  assert.equal(await roleWith(other), 401);
  assert.deepEqual((await loginsIn(world.ctx)).slice(-1), ["logout allowed user ann, password"]);
});

test("without logins this machine's user approves as before", async (t) => {
  const world = await testWorld(t);
  const { verifier, challenge } = aClient();

  await world.http("POST", authorize, { body: { code_challenge: challenge } });
  const { user, secret } = loginIn(await world.http("GET", tokenAt(verifier)));

  assert.equal(user, "local");
  assert.equal(challengeOf(verifier), challenge);
  assert.equal(
    (await world.http("GET", "/api/health", { headers: cookieWith(secret) })).status,
    200,
  );
  const gone = { headers: cookieWith("a".repeat(43)) };
  assert.equal((await world.http("GET", "/users/role", gone)).json["id"], "local");
});

test("of a session the database holds no secret, and expired ones are forgotten", async (t) => {
  const world = await aWorld(t);
  const rows = () => world.ctx.db.selectFrom("sessions").selectAll().execute();
  const [row] = await rows();

  assert.doesNotMatch(JSON.stringify(await rows()), new RegExp(world.headers.cookie.slice(-20)));
  assert.equal(row?.digest.length, 32);
  world.advance(world.ctx.config.sessionHours * 3_600_000);
  await collectSessions(world.ctx);
  assert.deepEqual(await rows(), []);
});
