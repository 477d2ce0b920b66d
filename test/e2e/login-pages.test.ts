import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { startAuthProxy, whyNoNginx } from "../helpers/auth-proxy.ts";
import { barriersOf, startChromium, whyNoChromium } from "../helpers/chromium.ts";
import { makeUser, runIn } from "../helpers/logins.ts";
import { client, startProvider } from "../helpers/oidc-provider.ts";
import { claimPorts } from "../helpers/ports.ts";
import { startControl } from "../helpers/programs.ts";

const skip = whyNoChromium();

function aHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "login-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Looks for barriers, then presses the button that approves the login of a client. */
async function authorize(page: Page): Promise<void> {
  await page.getByRole("heading", { name: "Log in on the command line" }).waitFor();
  assert.deepEqual(await barriersOf(page), []);
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByText("Authorized. You can close this page").waitFor();
}

const whoIn = async (home: string) =>
  JSON.parse((await runIn(home, "whoami", "-o", "json").ended).stdout);

/** What a page complains about, such as what its policy forbids. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on("console", (message) => {
    // Answers that are errors are shown in the pages themselves.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(message.text());
  });
  page.on("pageerror", (error) => void complaints.push(error.message));
  return complaints;
}

test("a browser logs in at a provider and approves a command line", { skip }, async (t) => {
  const home = aHome(t);
  const { document: port } = await claimPorts(t);
  writeFileSync(join(home, "secret"), client.clientSecret);
  const control = await startControl(t, {
    env: {
      ...{ OUTRIGGER_LOGIN: "password,oidc", OUTRIGGER_ADMIN_GROUPS: "ops" },
      ...{
        OUTRIGGER_OIDC_ISSUER: `http://127.0.0.1:${port}`,
        OUTRIGGER_OIDC_CLIENT_ID: client.clientId,
      },
      ...{ OUTRIGGER_OIDC_CLIENT_SECRET_FILE: join(home, "secret") },
      OUTRIGGER_OIDC_SCOPES: "openid email groups",
    },
  });
  const callback = `${control.endpoint}/auth/callback`;
  await startProvider(t, [callback], { claims: { groups: ["ops"] }, port });
  const page = await (await startChromium(t)).newPage();
  const complaints = complaintsOf(page);
  const login = runIn(home, "login", "--endpoint", control.endpoint);

  await page.goto(await login.page);
  await page.getByRole("heading", { name: /^Log in to/ }).waitFor();
  assert.deepEqual(await barriersOf(page), []);
  await page.getByRole("link", { name: "Log in with single sign-on" }).click();
  await page.getByPlaceholder(/login/i).fill("ann");
  await page.getByPlaceholder(/password/i).fill("any");
  await page.getByRole("button", { name: /sign-in/i }).click();
  await page.getByRole("button", { name: /continue/i }).click();
  await authorize(page);

  const { code, stderr } = await login.ended;
  assert.equal(code, 0, stderr);
  const { name, role } = await whoIn(home);
  assert.deepEqual([name, role], ["ann@lab.org", "admin"]);
  assert.deepEqual(complaints, []);
});

test("behind an auth proxy a browser is known at once, and the command line gets through", {
  skip: skip || whyNoNginx(),
}, async (t) => {
  const home = aHome(t);
  const control = await startControl(t, {
    env: {
      ...{ OUTRIGGER_LOGIN: "proxy", OUTRIGGER_PROXY_ADDRESSES: "127.0.0.1" },
      OUTRIGGER_ADMIN_GROUPS: "ops",
    },
  });
  const url = await startAuthProxy(t, control.endpoint);
  const page = await (await startChromium(t)).newPage();
  const complaints = complaintsOf(page);
  const login = runIn(home, "login", "--endpoint", url);

  await page.goto(await login.page);
  await authorize(page);
  const { code, stderr } = await login.ended;
  assert.equal(code, 0, stderr);
  const { name, role, endpoint } = await whoIn(home);
  assert.deepEqual([name, role, endpoint], ["ann@lab.org", "admin", url]);
  assert.deepEqual(complaints, []);

  const claimed = { "x-auth-request-email": "eve@lab.org", authorization: "Bearer nothing" };
  const refused = await fetch(`${url}/users/role`, { headers: claimed });
  assert.equal(refused.status, 401, "what a client says of itself does not get through");
});

test("a password logs in, the token page hands over, and logging out ends it", {
  skip,
}, async (t) => {
  const control = await startControl(t, { env: { OUTRIGGER_LOGIN: "password" } });
  await makeUser(control, "ann", "right horse battery");
  const handed = Promise.withResolvers<string>();
  const posts: string[] = [];
  const waiting = createServer((req, res) => {
    posts.push(req.method ?? "");
    res.setHeader("access-control-allow-origin", control.endpoint).end();
    if (req.method === "POST") handed.resolve(text(req));
  });
  waiting.listen(0, "127.0.0.1");
  t.after(() => void waiting.close());
  const page = await (await startChromium(t)).newPage();
  const complaints = complaintsOf(page);
  const { port } = waiting.address() as AddressInfo;

  await page.goto(`${control.endpoint}/token?local_port=${port}`);
  await page.getByLabel("Name").fill("ann");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").getByText("Wrong name or password.").waitFor();
  assert.deepEqual(await barriersOf(page), []);
  await page.getByLabel("Password").fill("right horse battery");
  await page.getByRole("button", { name: "Log in" }).click();
  const handOver = page.getByRole("button", { name: "Hand over" });
  await handOver.waitFor();
  assert.deepEqual(posts, [], "nothing is handed over to a port that a link names");
  await handOver.click();
  await page.getByText("Handed to the command line.").waitFor();
  assert.deepEqual(await barriersOf(page), []);
  const token = JSON.parse(Buffer.from(await handed.promise, "base64").toString());
  assert.equal(await page.getByLabel("Token").inputValue(), await handed.promise);
  const headers = { authorization: `Bearer ${token.cookies.outrigger_session}` };
  assert.equal((await fetch(`${control.endpoint}/users/role`, { headers })).status, 200);

  const visible = await page.evaluate("document.cookie");
  assert.equal(visible, "", "no script sees the session");
  await page.goto(`${control.endpoint}/login`);
  assert.deepEqual(await barriersOf(page), []);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: /^Log in to/ }).waitFor();
  assert.deepEqual(complaints, []);
});
