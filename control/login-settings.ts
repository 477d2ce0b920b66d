import * as z from "zod";
import { fail } from "../common/errors.ts";
import { roleNames } from "../contract/roles.ts";
import { AtOnce, List } from "./setting-shapes.ts";

const Words = <const Word extends string>(words: readonly Word[]) =>
  List.pipe(z.array(z.enum(words)));
const Name = z.string().regex(/^\P{Cc}{1,256}$/u, "a name is one line of text");
const HeaderName = z
  .string()
  .regex(/^[\w-]+$/, "not a name of a header")
  .transform((name) => name.toLowerCase());

/** How callers may log in. */
export const loginMethods = ["token", "password", "oidc", "proxy"] as const;

/** Settings of how callers log in, and what they may do. */
export const loginSettings = {
  login: Words(loginMethods)
    .default([])
    .describe(
      "How callers log in, such as `password,oidc`: `token` (service accounts alone), `password`, `oidc` or `proxy`. Tokens of service accounts work with each. Empty: only this machine's user and root are served, as an administrator.",
    ),
  firstAdmin: Name.optional().describe("User who becomes an administrator if there is none yet."),
  defaultRole: z
    .enum(roleNames)
    .default("user")
    .describe("Role of users who log in for the first time and are in none of the groups below."),
  adminGroups: List.default([]).describe(
    "Groups of the identity provider or the proxy whose members are administrators.",
  ),
  viewerGroups: List.default([]).describe("Groups whose members have read-only access."),
  sessionHours: z.coerce
    .number()
    .min(0.01)
    .max(8_760)
    .default(168)
    .describe("How long a login lasts."),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => new URL(url).origin)
    .optional()
    .describe(
      "Address that browsers use, such as https://control.example, if it is not `http://HOST:PORT`.",
    ),
  tlsCertFile: z.string().optional().describe("Certificate chain (PEM) to serve HTTPS with."),
  tlsKeyFile: z.string().optional().describe("Its private key (PEM)."),
  proxyAddresses: List.default([]).describe(
    "Addresses or networks of the proxies in front, such as 127.0.0.1,10.0.0.0/24. `X-Forwarded-For` and the headers below are trusted only from there.",
  ),
  proxyUserHeader: HeaderName.default("x-auth-request-email").describe(
    "Header in which such a proxy names the user, for the login method `proxy`.",
  ),
  proxyGroupsHeader: HeaderName.default("x-auth-request-groups").describe(
    "Header in which it lists the user's groups, separated by commas.",
  ),
  oidcIssuer: z.url().optional().describe("Issuer of the OpenID Connect provider."),
  oidcClientId: z.string().optional().describe("Client id of control at the provider."),
  oidcClientSecretFile: z
    .string()
    .optional()
    .describe("File with the client's secret; without one the client is a public one."),
  oidcScopes: z
    .string()
    .default("openid email profile")
    .describe("Scopes requested from the provider."),
  oidcUserClaim: z
    .string()
    .default("email")
    .describe("Claim that names the user; an unverified e-mail address is refused."),
  oidcGroupsClaim: z.string().default("groups").describe("Claim that lists the user's groups."),
  loginsPerMinute: AtOnce.default(10).describe(
    "Maximum failed logins per minute for one name and for one address; more get 429.",
  ),
  callsPerSecond: z.coerce
    .number()
    .min(0)
    .default(0)
    .describe(
      "Maximum calls per second for one user, averaged over ten seconds; more get 429. 0 is no limit.",
    ),
};

type LoginSettings = z.output<z.ZodObject<typeof loginSettings>>;

/** Whether a host name or address means this machine itself. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host);

/** Throws `ConfigError` where others than this machine's user could reach control without a login. */
export function checkExposure(config: LoginSettings & { readonly host: string }): void {
  const { host, login, tlsCertFile, tlsKeyFile, proxyAddresses } = config;
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined))
    fail("ConfigError", "OUTRIGGER_TLS_CERT_FILE and OUTRIGGER_TLS_KEY_FILE go together");
  if (login.includes("proxy") && proxyAddresses.length === 0)
    fail("ConfigError", "OUTRIGGER_LOGIN=proxy: name the proxy in OUTRIGGER_PROXY_ADDRESSES");
  if (login.includes("oidc") && !(config.oidcIssuer && config.oidcClientId))
    fail(
      "ConfigError",
      "OUTRIGGER_LOGIN=oidc needs OUTRIGGER_OIDC_ISSUER and OUTRIGGER_OIDC_CLIENT_ID",
    );
  if (config.oidcIssuer !== undefined && !isSafe(new URL(config.oidcIssuer)))
    fail(
      "ConfigError",
      "OUTRIGGER_OIDC_ISSUER: only https, or http on loopback, keeps logins safe",
    );
  if (isLoopback(host)) return;
  if (login.length === 0)
    fail(
      "ConfigError",
      `OUTRIGGER_HOST: ${host} is not a loopback address; anyone who reaches it could run commands. ` +
        "Choose how callers log in with OUTRIGGER_LOGIN, or listen on 127.0.0.1 and come in through SSH.",
    );
  if (tlsCertFile === undefined && proxyAddresses.length === 0)
    fail(
      "ConfigError",
      `OUTRIGGER_HOST: ${host} is not a loopback address; passwords and tokens would cross the network ` +
        "in clear. Set OUTRIGGER_TLS_CERT_FILE and OUTRIGGER_TLS_KEY_FILE, or name the proxy that " +
        "speaks HTTPS in OUTRIGGER_PROXY_ADDRESSES.",
    );
}

const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" ||
  (protocol === "http:" && isLoopback(hostname.replace(/^\[(.*)\]$/, "$1")));
