import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findUserByName } from "../../../control/users/store.ts";
import { logInAt, settingsFor, startProvider } from "../../helpers/oidc-provider.ts";
import { openPlainBrowser } from "../../helpers/plain-browser.ts";
import { testWorld } from "../../helpers/world.ts";
import { aSessionOf, aUserWith, cookieIn, cookieWith, loginsIn } from "./a-login.ts";

const site = "http://control.example:46580";
const callback = `${site}/auth/callback`;
const host = new URL(site).host;
const html = { accept: "text/html", host };

/** A control plane, and a provider on loopback where everybody is in the group `ml`. */
async function aWorld(t: TestContext, claims: Record<string, unknown> = {}, config = {}) {
  const provider = await startProvider(t, [callback], { claims: { groups: ["ml"], ...claims } });
  const world = await testWorld(t, {
    config: { login: ["oidc"], adminGroups: ["ops"], ...config },
  });
  const secretFile = join(world.home, "client-secret");
  writeFileSync(secretFile, `${provider.clientSecret}\n`);
  Object.assign(world.ctx.config, settingsFor(provider, secretFile), config);

  /** Begins a login; where the provider is, and the cookie that control sets. */
  async function begin(next = "/docs") {
    const answer = await world.http("GET", `/auth/oidc?next=${next}`, { headers: html });
    assert.equal(answer.status, 302, answer.text);
    const kept = cookieIn(answer, "outrigger_login") ?? "";
    return { url: answer.headers["location"] ?? "", cookie: `outrigger_login=${kept}` };
  }
  /** What comes of it once the provider has sent the browser back. */
  const finish = ({ pathname, search }: URL, cookie: string) =>
    world.http("GET", `${pathname}${search}`, { headers: { ...html, cookie } });
  const atProvider = (url: string, login: string) =>
    logInAt(openPlainBrowser(callback), url, login);
  return { ...world, begin, finish, atProvider };
}

test("a login at the provider ends in a new session of a user with the role of the groups", async (t) => {
  const world = await aWorld(t, { groups: ["ops", "ml"] });
  const brought = await aSessionOf(world.ctx, { name: "eve" });
  const { url, cookie } = await world.begin("/auth/authorize?code_challenge=abc");

  const sent = new URL(url).searchParams;
  assert.equal(sent.get("redirect_uri"), callback);
  assert.equal(sent.get("code_challenge_method"), "S256");
  for (const name of ["state", "nonce", "code_challenge"]) {
    assert.match(sent.get(name) ?? "", /^[\w-]{43}$/);
    assert.ok(!cookie.includes(sent.get(name) ?? ""), "the cookie is sealed");
  }
  const back = await world.atProvider(url, "ann");
  const answer = await world.finish(back, `${cookie}; outrigger_session=${brought}`);

  assert.equal(answer.headers["location"], "/auth/authorize?code_challenge=abc", answer.text);
  const secret = cookieIn(answer) ?? "";
  assert.notEqual(secret, brought);
  assert.equal(cookieIn(answer, "outrigger_login"), "", "what the browser kept is gone");
  const role = await world.http("GET", "/users/role", { headers: cookieWith(secret) });
  assert.deepEqual([role.json["name"], role.json["role"]], ["ann@lab.org", "admin"]);
  const user = await findUserByName(world.ctx.db, "ann@lab.org");
  assert.deepEqual([user?.groups, user?.kind], [["ml", "ops"], "sso"]);
  assert.deepEqual((await loginsIn(world.ctx)).slice(1), ["login allowed user ann@lab.org, oidc"]);
});

test("a code that comes again, or to another browser, logs nobody in", async (t) => {
  const world = await aWorld(t);
  const [one, other] = [await world.begin(), await world.begin()];
  const back = await world.atProvider(one.url, "ann");

  const refusals = [
    await world.finish(back, ""),
    await world.finish(back, other.cookie),
    await world.finish(back, `${one.cookie.slice(0, -4)}AAAA`),
  ];
  assert.equal((await world.finish(back, one.cookie)).status, 302);
  refusals.push(await world.finish(back, one.cookie));
  for (const refused of refusals) {
    assert.equal(refused.status, 401, refused.text);
    assert.match(refused.text, /role="alert"/);
    assert.equal(cookieIn(refused), undefined);
  }
  const outcomes = (await loginsIn(world.ctx)).map((entry) => entry.split(" ")[1]);
  assert.deepEqual(outcomes, ["refused", "refused", "refused", "allowed", "refused"]);
});

test("a login that takes too long has to be begun again", async (t) => {
  const world = await aWorld(t);
  const { url, cookie } = await world.begin();
  const back = await world.atProvider(url, "ann");

  world.advance(600_000);
  const refused = await world.finish(back, cookie);
  assert.deepEqual([refused.status, /more than ten minutes ago/.test(refused.text)], [401, true]);
});

test("an issuer, a state or an error that is not the provider's own is refused", async (t) => {
  const world = await aWorld(t);
  const { url, cookie } = await world.begin();
  const back = await world.atProvider(url, "ann");
  const changed = (change: Record<string, string>) => {
    const copy = new URL(back);
    for (const [name, value] of Object.entries(change)) copy.searchParams.set(name, value);
    return world.finish(copy, cookie);
  };

  for (const change of [{ iss: "http://127.0.0.1:1" }, { state: "x" }])
    assert.equal((await changed(change)).status, 401, JSON.stringify(change));
  const denied = await changed({ error: "access_denied", error_description: "<b>no</b>" });
  assert.equal(denied.status, 401);
  assert.match(denied.text, /The identity provider refuses: &lt;b&gt;no/);
});

test("an e-mail address that is not verified, and the name of another kind of user, are refused", async (t) => {
  const logIn = async (world: Awaited<ReturnType<typeof aWorld>>) => {
    const { url, cookie } = await world.begin();
    return world.finish(await world.atProvider(url, "ann"), cookie);
  };
  const unverified = await logIn(await aWorld(t, { email_verified: false }));
  assert.deepEqual([unverified.status, /has not verified/.test(unverified.text)], [401, true]);
  const nameless = await logIn(await aWorld(t, {}, { oidcUserClaim: "upn" }));
  assert.deepEqual([nameless.status, /no claim upn/.test(nameless.text)], [401, true]);

  const world = await aWorld(t);
  await aUserWith(world.ctx, "ann@lab.org", "right horse battery");
  const taken = await logIn(world);
  assert.deepEqual([taken.status, cookieIn(taken)], [403, undefined]);
});

test("a provider that does not answer is named on a page, and asked again at the next login", async (t) => {
  const world = await aWorld(t);
  const { oidcIssuer } = world.ctx.config;
  const start = () => world.http("GET", "/auth/oidc", { headers: html });

  Object.assign(world.ctx.config, { oidcIssuer: "http://127.0.0.1:1" });
  const refused = await start();
  assert.equal(refused.status, 502);
  assert.match(refused.text, /The identity provider at http:\/\/127\.0\.0\.1:1 does not respond/);
  Object.assign(world.ctx.config, { oidcIssuer });
  assert.equal((await start()).status, 302);
});
