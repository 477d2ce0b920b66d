import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setUser } from "../../../control/users/store.ts";
import { testWorld } from "../../helpers/world.ts";
import {
  aSessionOf,
  aUserWith,
  cheapHashOf,
  cookieIn,
  cookieWith,
  form,
  loginsIn,
} from "./a-login.ts";

const password = "right horse battery";

/** A control plane with a user who has a password. */
async function aWorld(t: TestContext, config = {}) {
  const world = await testWorld(t, { config: { login: ["password"], ...config } });
  await aUserWith(world.ctx, "ann", password);
  const logIn = (fields: Record<string, string>, headers = {}) =>
    world.http("POST", "/login", form(fields, headers));
  const roleWith = (headers: Record<string, string>) =>
    world.http("GET", "/users/role", { headers });
  return { ...world, logIn, roleWith };
}

const basic = (name: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString("base64")}`,
});

test("the form gives a new session, never one that the browser brought", async (t) => {
  const world = await aWorld(t);
  const brought = await aSessionOf(world.ctx, { name: "eve" });

  const answer = await world.logIn(
    { name: "ann", password, next: "/docs?q=1" },
    cookieWith(brought),
  );
  assert.deepEqual([answer.status, answer.headers["location"]], [302, "/docs?q=1"]);
  const secret = cookieIn(answer) ?? "";
  assert.match(secret, /^[\w-]{43}$/);
  assert.notEqual(secret, brought);
  assert.match(
    String(answer.headers["set-cookie"]),
    /; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
  );
  assert.equal((await world.roleWith(cookieWith(secret))).json["id"], "ann");
  assert.equal((await world.roleWith(cookieWith(brought))).status, 401, "the old one has ended");
  const fixed = cookieWith("a".repeat(43));
  assert.notEqual(cookieIn(await world.logIn({ name: "ann", password }, fixed)), "a".repeat(43));
  assert.equal((await world.roleWith(fixed)).status, 401);
});

test("a wrong password and an unknown name are answered alike, and written down", async (t) => {
  const world = await aWorld(t);

  const wrong = await world.logIn({ name: "ann", password: "wrong" });
  const unknown = await world.logIn({ name: "nia", password: "wrong" });
  assert.deepEqual([wrong.status, unknown.status], [401, 401]);
  const plain = ({ text }: { text: string }) => text.replace(/nonce="[^"]*"|ann|nia/g, "");
  assert.equal(plain(wrong), plain(unknown));
  assert.match(wrong.text, /role="alert">Wrong name or password/);
  assert.equal(cookieIn(wrong), undefined);
  assert.doesNotMatch(wrong.text, /value="wrong"/);
  assert.deepEqual(await loginsIn(world.ctx), [
    "login refused user ann, password",
    "login refused user nia, password",
  ]);
});

test("failed logins are limited by name and by address, also many at once", async (t) => {
  const world = await aWorld(t, { loginsPerMinute: 3 });
  const fail = async (name: string) => (await world.logIn({ name, password: "wrong" })).status;

  const statuses = await Promise.all(["ann", "ann", "ann", "ann", "ann"].map(fail));
  assert.deepEqual(statuses.sort(), [401, 401, 401, 429, 429]);
  assert.equal(await fail("nia"), 429, "the address is the same");
  const late = await world.logIn({ name: "ann", password });
  assert.equal(late.status, 429);
  assert.match(String(late.headers["retry-after"]), /^(1\d|20)$/);
  world.advance(20_000);
  assert.equal((await world.logIn({ name: "ann", password })).status, 302);
  assert.equal((await world.logIn({ name: "ann", password })).status, 302, "success costs nothing");
});

test("a name and a password in the address serve until the password changes", async (t) => {
  const world = await aWorld(t, { loginsPerMinute: 3 });
  const right = basic("ann", password);

  const many = await Promise.all(Array.from({ length: 20 }, () => world.roleWith(right)));
  assert.deepEqual(new Set(many.map(({ status }) => status)), new Set([200]));
  assert.equal(many[0]?.json["id"], "ann");
  const wrong = await world.roleWith(basic("ann", "wrong"));
  assert.deepEqual([wrong.status, wrong.json["type"]], [401, "AuthenticationError"]);
  const changed = { password: cheapHashOf("another password") };
  await world.ctx.batch((tx) => setUser(tx, "ann", changed));
  assert.equal((await world.roleWith(right)).status, 401);
  assert.equal((await world.roleWith(basic("ann", "another password"))).status, 200);
  assert.equal((await world.roleWith(basic("ann", "wrong"))).status, 401);
  const late = await world.roleWith(basic("ann", "wrong"));
  assert.equal(late.status, 429);
  assert.match(String(late.headers["retry-after"]), /^(1\d|20)$/);
});

test("passwords serve only where the settings say so", async (t) => {
  const world = await aWorld(t, { login: ["token"] });

  assert.equal((await world.logIn({ name: "ann", password })).status, 400);
  assert.equal((await world.roleWith(basic("ann", password))).status, 401);
});

test("a form that is no login is refused without being read to its end", async (t) => {
  const world = await aWorld(t);

  assert.equal((await world.logIn({ name: "a".repeat(20_000), password })).status, 413);
  assert.equal((await world.logIn({})).status, 401);
});
