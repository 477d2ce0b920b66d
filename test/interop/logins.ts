import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openClient } from "../../client/sdk.ts";
import { envOf, protocol } from "../../common/product.ts";
import { Secret } from "../../common/secret.ts";
import { tokenOperations } from "../../contract/operations/tokens.ts";
import { startAuthProxy, whyNoNginx } from "../helpers/auth-proxy.ts";
import { makeUser } from "../helpers/logins.ts";
import { client, logInAt, startProvider } from "../helpers/oidc-provider.ts";
import { approve, openPlainBrowser, type PlainBrowser } from "../helpers/plain-browser.ts";
import { claimPorts } from "../helpers/ports.ts";
import { type CommandOptions, type Ended, runCommand } from "./command.ts";
import { startControl } from "./control.ts";
import type { Report } from "./report.ts";

const lineTimeoutMs = 120_000;

/** A client that logs in where somebody does in its browser. */
interface Bed {
  readonly report: Report;
  readonly bin: string;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly stack: AsyncDisposableStack;
}

/** Has one version of the existing client log in through a provider, a proxy, and with a token. */
export async function checkLogins(
  report: Report,
  bin: string,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const bed = { report, bin, folder, signal, stack };
  await mkdir(folder, { recursive: true });
  await throughProvider(bed);
  const why = whyNoNginx();
  if (why === false) await throughProxy(bed);
  else console.log(`interop: the login through a proxy is left out: ${why}`);
}

async function throughProvider(bed: Bed): Promise<void> {
  const { folder, signal, stack } = bed;
  const cleaner = { after: (clean: () => Promise<void>) => stack.defer(clean) };
  const { document: port } = await claimPorts(cleaner);
  const secretFile = join(folder, "secret");
  await writeFile(secretFile, client.clientSecret);
  const home = join(folder, "provider");
  const settings = {
    ...{ OUTRIGGER_LOGIN: "oidc,password", OUTRIGGER_OIDC_ISSUER: `http://127.0.0.1:${port}` },
    ...{ OUTRIGGER_OIDC_CLIENT_ID: client.clientId, OUTRIGGER_OIDC_CLIENT_SECRET_FILE: secretFile },
  };
  const control = await startControl(home, settings, signal);
  stack.defer(async () => void (await control.stop()));
  await startProvider(cleaner, [`${control.url}/auth/callback`], { port });

  await logIn(bed, "by a provider", control.url, async (browser, page) => {
    const next = new URL(page).pathname;
    await logInAt(browser, `${control.url}/auth/oidc?next=${next}`, "ann");
  });
  await logInWithToken(bed, control.url, await makeToken(control.url, home));
  await useWithPassword(bed, { home: join(home, ".outrigger"), endpoint: control.url });
}

async function throughProxy(bed: Bed): Promise<void> {
  const { folder, signal, stack } = bed;
  const settings = { OUTRIGGER_LOGIN: "proxy", OUTRIGGER_PROXY_ADDRESSES: "127.0.0.1" };
  const control = await startControl(join(folder, "proxy"), settings, signal);
  stack.defer(async () => void (await control.stop()));
  const url = await startAuthProxy({ after: (clean) => stack.defer(clean) }, control.url);

  await logIn(bed, "by a proxy", url, async (browser, page) => void (await browser.go(page)));
}

type AtBrowser = (browser: PlainBrowser, page: string) => Promise<void>;

/** The client prints a page; what its user does there lets it in. */
async function logIn(bed: Bed, how: string, url: string, act: AtBrowser): Promise<void> {
  const { report } = bed;
  let page: string | undefined;
  let acted = Promise.resolve();
  const browser = openPlainBrowser();
  const onText = (text: string) => {
    if (page !== undefined) return;
    page = /http\S+\/auth\/authorize\?code_challenge=[\w-]{43}/.exec(text)?.[0];
    const opened = page;
    if (opened !== undefined) acted = act(browser, opened).then(() => approve(browser, opened));
    acted.catch(() => {});
  };
  const run = await commandsIn(bed, how);
  report.check(`api login, ${how}`, await run(["api", "login", "-e", url], onText));
  await acted;
  report.check(`api info, ${how}`, naming("ann@lab.org", await run(["api", "info"])));
  report.check(`status, ${how}`, await run(["status"]));
}

async function logInWithToken(bed: Bed, url: string, token: string): Promise<void> {
  const run = await commandsIn(bed, "with a token");
  const login = ["api", "login", "-e", url, "--service-account-token", token];
  bed.report.check("api login, with a token", await run(login));
  bed.report.check("api info, with a token", naming("sa:", await run(["api", "info"])));
  bed.report.check("status, with a token", await run(["status"]));
}

/** The client sends the name and the password in its endpoint with each call. */
async function useWithPassword(
  bed: Bed,
  control: { readonly home: string; readonly endpoint: string },
): Promise<void> {
  const { report } = bed;
  const password = "right-horse-battery";
  await makeUser(control, "bob", password);
  const endpointWith = (secret: string) =>
    envOf("API_SERVER_ENDPOINT", control.endpoint.replace("//", `//bob:${secret}@`));
  const run = await commandsIn(bed, "with a password", endpointWith(password));
  report.check("api info, with a password", naming("bob", await run(["api", "info"])));
  report.check("status, with a password", await run(["status"]));
  const runWrong = await commandsIn(bed, "with a wrong password", endpointWith("wrong"));
  const { exitCode, ...refused } = await runWrong(["status"]);
  const isRefused = exitCode === 1 && refused.text.includes("Authentication required");
  report.check("status, with a wrong password", { ...refused, exitCode: isRefused ? 0 : 1 });
}

/** Runs command lines of the client in a home of its own, where any browser opens at once. */
async function commandsIn(
  { bin, folder, signal }: Bed,
  name: string,
  more: NodeJS.ProcessEnv = {},
) {
  const home = join(folder, `home ${name}`);
  await mkdir(home, { recursive: true });
  const path = [bin, process.env["PATH"]].join(":");
  const quiet = { ...envOf("DISABLE_USAGE_COLLECTION", "1"), PYTHONUNBUFFERED: "1" };
  const env = { PATH: path, HOME: home, BROWSER: "/bin/true %s", ...quiet, ...more };
  const options = { env, cwd: home, timeoutMs: lineTimeoutMs, signal };
  return (args: readonly string[], onText?: CommandOptions["onText"]): Promise<Ended> =>
    runCommand([join(bin, protocol.requestPrefix), ...args], {
      ...options,
      ...(onText !== undefined && { onText }),
    });
}

/** Fails what does not say who is logged in. */
const naming = (name: string, ended: Ended): Ended =>
  ended.text.includes(name) ? ended : { ...ended, exitCode: 1 };

/** A token of a service account, made by the owner of the home. */
async function makeToken(endpoint: string, home: string): Promise<string> {
  const text = await readFile(join(home, ".outrigger", "token"), "utf8");
  const admin = openClient({ endpoint, token: new Secret(text.trim()), origin: "interop" });
  const { token } = await admin.call(tokenOperations.create, { token_name: "ci" });
  await admin.close();
  return token;
}
