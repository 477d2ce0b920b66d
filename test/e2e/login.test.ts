import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeUser, runIn } from "../helpers/logins.ts";
import { approve, openPlainBrowser } from "../helpers/plain-browser.ts";
import { commandOf, startControl } from "../helpers/programs.ts";

const password = "right horse battery";

async function aControl(t: TestContext) {
  const control = await startControl(t, { env: { OUTRIGGER_LOGIN: "password" } });
  await makeUser(control, "ann", password);
  const home = mkdtempSync(join(tmpdir(), "login-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const browser = openPlainBrowser();
  const logIn = (page: string) =>
    browser.go(`${control.endpoint}/login`, {
      name: "ann",
      password,
      next: new URL(page).pathname,
    });
  return { control, home, browser, logIn, run: (...words: string[]) => runIn(home, ...words) };
}

test("a command line logs in through a browser, knows who it is, and logs out", async (t) => {
  const { control, home, browser, logIn, run } = await aControl(t);

  const login = run("login", "--endpoint", control.endpoint);
  const page = await login.page;
  assert.equal((await logIn(page)).url.pathname, "/auth/authorize");
  assert.doesNotMatch(commandOf(login.pid), /[\w-]{43}/, "its arguments show no secret");
  await approve(browser, page);
  const { code, stderr, stdout } = await login.ended;
  assert.deepEqual([code, stdout], [0, ""], stderr);
  assert.match(stderr, /Logged in as ann\.\nCommands use context 127\.0\.0\.1-\d+ now\./);

  const file = join(home, "logins", `127.0.0.1-${new URL(control.endpoint).port}`);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const secret = readFileSync(file, "utf8").trim();
  assert.match(secret, /^[\w-]{43}$/);
  assert.ok(!stderr.includes(secret));
  const who = JSON.parse((await run("whoami", "-o", "json").ended).stdout);
  assert.deepEqual([who.name, who.role, who.endpoint], ["ann", "user", control.endpoint]);
  const again = await run("login").ended;
  assert.match(again.stderr, /^Logged in as ann\.\n$/, "it needs no browser");

  const out = await run("logout").ended;
  assert.equal(out.code, 0, out.stderr);
  assert.throws(() => statSync(file), { code: "ENOENT" });
  const after = await run("whoami").ended;
  assert.equal(after.code, 4, after.stderr);
  assert.match(after.stderr, /log in first: `outrigger login`/);
  const headers = { authorization: `Bearer ${secret}` };
  assert.equal((await fetch(`${control.endpoint}/users/role`, { headers })).status, 401);
});

test("a login takes a token from a file, and refuses one that is wrong", async (t) => {
  const { control, home, run } = await aControl(t);
  const [right, wrong] = [join(control.home, "token"), join(home, "wrong")];
  writeFileSync(wrong, "sky_outrigger_nobody");
  const at = ["login", "--endpoint", control.endpoint, "--token-file"];

  const refused = await run(...at, wrong).ended;
  assert.deepEqual([refused.code, /unknown token/.test(refused.stderr)], [4, true]);
  assert.equal((await run("context", "list").ended).stdout.includes(control.endpoint), false);
  assert.equal((await run(...at, right).ended).code, 0);
  const who = JSON.parse((await run("whoami", "-o", "json").ended).stdout);
  assert.deepEqual([who.id, who.role], ["local", "admin"]);
  const out = await run("logout").ended;
  assert.match(out.stderr, /has no login to end; its token is in .*, and stays valid\./);
});

test("where nobody logs in a login says so, and makes the context all the same", async (t) => {
  const control = await startControl(t);
  const home = mkdtempSync(join(tmpdir(), "login-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));

  const { code, stderr } = await runIn(home, "login", "--endpoint", control.endpoint).ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /This control plane needs no login\./);
  const who = JSON.parse((await runIn(home, "whoami", "-o", "json").ended).stdout);
  assert.deepEqual([who.id, who.role], ["local", "admin"]);
});
