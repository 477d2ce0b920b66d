import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { localPath } from "../../../control/access/places.ts";
import { testWorld } from "../../helpers/world.ts";
import { aSessionOf, cookieWith, form, loginIn, loginsIn } from "./a-login.ts";

const html = { accept: "text/html,application/xhtml+xml" };

async function aWorld(t: TestContext, config = {}) {
  const world = await testWorld(t, { config: { login: ["password"], ...config } });
  const headers = { ...html, ...cookieWith(await aSessionOf(world.ctx, { name: "ann" })) };
  return { ...world, headers };
}

test("a browser that is not logged in is sent to log in, and only a browser", async (t) => {
  const world = await aWorld(t);
  const page = "/auth/authorize?code_challenge=abc";

  for (const path of [page, "/docs", "/token?local_port=8000"]) {
    const { status, headers } = await world.http("GET", path, { headers: html });
    assert.equal(status, 302, path);
    assert.equal(headers["location"], `/login?${new URLSearchParams({ next: path })}`);
    assert.equal((await world.http("GET", path)).status, 401, "a program gets an error");
  }
  assert.equal((await world.http("GET", "/users/role", { headers: html })).status, 401);
  assert.equal((await world.http("POST", "/status", { headers: html, body: {} })).status, 401);
  const form = await world.http("GET", `/login?${new URLSearchParams({ next: page })}`);
  assert.match(form.text, /name="next" value="\/auth\/authorize\?code_challenge=abc"/);
});

test("pages allow nothing but themselves, and are kept by nobody", async (t) => {
  const world = await aWorld(t);

  for (const path of ["/login", "/auth/authorize", "/token", "/token?local_port=8123"]) {
    const { headers, text, status } = await world.http("GET", path, { headers: world.headers });
    assert.equal(status, 200, path);
    const policy = headers["content-security-policy"] ?? "";
    const nonce = /script-src 'nonce-([\w+/=]+)'/.exec(policy)?.[1] ?? assert.fail(policy);
    for (const part of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"])
      assert.ok(policy.includes(part), part);
    assert.equal(policy.includes("http://localhost:8123"), path.endsWith("8123"));
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["x-frame-options"], "DENY");
    for (const [tag] of text.matchAll(/<(script|style)[^>]*>/g))
      assert.ok(tag.includes(nonce), tag);
    assert.doesNotMatch(text, /\bon\w+="|\bstyle="|https?:\/\/(?!localhost:8123)/);
    const again = await world.http("GET", path, { headers: world.headers });
    assert.ok(!again.text.includes(nonce), "each has a nonce of its own");
  }
});

test("the page of a token has one of a session of its own", async (t) => {
  const world = await aWorld(t);

  const { text } = await world.http("GET", "/token", { headers: world.headers });
  const token = /<textarea[^>]*>([^<]+)</.exec(text)?.[1] ?? "";
  const { user, secret } = loginIn({ json: { token } });
  assert.equal(user, "ann");
  const role = await world.http("GET", "/users/role", { headers: cookieWith(secret) });
  assert.equal(role.json["id"], "ann");
  for (const port of ["0", "65536", "80/x", "1;script-src *"])
    assert.equal(
      (await world.http("GET", `/token?local_port=${encodeURIComponent(port)}`, world)).status,
      422,
      port,
    );
});

test("a login leads to paths of this control plane alone", () => {
  const kept = ["/", "/docs", "/auth/authorize?code_challenge=a-b_c", "/dashboard/#x", "/a//b"];
  for (const path of kept) assert.equal(localPath(path), path);
  const others = [
    ...["//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "evil"],
    ...["/\t/evil.example", "/\n//evil.example", "/..//evil.example", "/.//evil.example", "", null],
    ...["javascript:alert(1)", "/a\\..\\b", "/\u0000", `/${"a".repeat(2_000)}`],
  ];
  for (const path of others) assert.equal(localPath(path), "/", JSON.stringify(path));
});

test("pages of other sites make no calls", async (t) => {
  const world = await aWorld(t);
  const post = (headers: Record<string, string>) =>
    world.http("POST", "/logout", {
      headers: { ...world.headers, host: "control.example", ...headers },
    });

  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "http://control.example:8080" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ])
    assert.equal((await post(headers)).status, 403, JSON.stringify(headers));
  const login = form({ name: "ann", password: "x" }, { origin: "https://evil.example" });
  assert.equal((await world.http("POST", "/login", login)).status, 403, "nor a login");
  const link = { ...world.headers, "sec-fetch-site": "cross-site" };
  assert.equal((await world.http("GET", "/auth/authorize", { headers: link })).status, 200);
  const own = { origin: "http://control.example", "sec-fetch-site": "same-origin" };
  assert.equal((await post(own)).status, 302);
  assert.deepEqual((await loginsIn(world.ctx)).slice(1), ["logout allowed user ann, password"]);
});

test("a page that is reached by another address is ours where the settings name it", async (t) => {
  const world = await aWorld(t, { publicUrl: "https://control.example" });
  const out = (origin: string) =>
    world.http("POST", "/logout", {
      headers: { ...world.headers, host: "10.0.0.5:46580", origin },
    });

  assert.equal((await out("http://10.0.0.5:46580")).status, 403);
  const { status, headers } = await out("https://control.example");
  assert.equal(status, 302);
  assert.match(String(headers["set-cookie"]), /; Secure$/);
});

test("a secret in an address is no credential", async (t) => {
  const world = await aWorld(t);
  const secret = world.headers.cookie.split("=").at(-1) ?? "";

  for (const query of [`token=${secret}`, `access_token=${secret}`, `outrigger_session=${secret}`])
    assert.equal((await world.http("GET", `/users/role?${query}`)).status, 401, query);
  const rows = await world.ctx.db.selectFrom("audit").selectAll().execute();
  assert.deepEqual(
    rows.filter(({ outcome }) => outcome === "refused").map(({ operation }) => operation),
    Array(3).fill("users.role"),
  );
});
