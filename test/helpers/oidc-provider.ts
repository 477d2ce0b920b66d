import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { PlainBrowser } from "./plain-browser.ts";

/** A real OpenID provider on loopback, where everybody logs in with any password. */
export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

interface ProviderOptions {
  /** More claims of everybody. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly port?: number;
}

/** As whom control is registered. */
export const client = { clientId: "outrigger", clientSecret: "a secret of the client" };

/** Starts a provider that sends browsers back to these addresses. */
export async function startProvider(
  t: Cleaner,
  redirectUris: readonly string[],
  { claims = {}, port = 0 }: ProviderOptions = {},
): Promise<TestProvider> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: client.clientId, client_secret: client.clientSecret },
        ...{ redirect_uris: [...redirectUris], grant_types: ["authorization_code"] },
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    scopes: ["openid", "email", "groups"],
    cookies: { keys: ["a key of this test"] },
    findAccount: async (_ctx, sub) => ({
      accountId: sub,
      claims: async () => ({
        sub,
        email: `${sub}@lab.org`,
        email_verified: true,
        ...claims,
      }),
    }),
  });
  server.on("request", provider.callback());
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { issuer, ...client };
}

/** The settings of a control plane that this provider knows. */
export const settingsFor = ({ issuer, clientId }: TestProvider, secretFile: string) => ({
  oidcIssuer: issuer,
  oidcClientId: clientId,
  oidcClientSecretFile: secretFile,
  oidcScopes: "openid email groups",
});

/** Logs in at the provider, and agrees; where the provider then sends the browser. */
export async function logInAt(browser: PlainBrowser, url: string, login: string): Promise<URL> {
  let at = await browser.go(url);
  const answers = [{ prompt: "login", login, password: "any" }, { prompt: "consent" }];
  for (const answer of answers) {
    const action = /<form[^>]*action="([^"]+)"/.exec(at.text)?.[1];
    if (action === undefined) return at.url;
    at = await browser.go(new URL(action, at.url).href, answer);
  }
  return at.url;
}
