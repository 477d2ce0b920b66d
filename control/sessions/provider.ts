import { readFileSync } from "node:fs";
import type { ClientAuth, Configuration } from "openid-client";
import { AppError, fail } from "../../common/errors.ts";
import type { Ground } from "../ground.ts";

/** What control remembers of a login while the browser is at the identity provider. */
export interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
}

/** Who a provider says has logged in. */
export interface Claimed {
  readonly name: string;
  readonly groups: readonly string[];
}

const answersWithinSeconds = 5;
const attempts = 2;
const refreshMs = 3_600_000;

/** Only those who log in by a provider wait for this package. */
const library = () => import("openid-client");

interface Found {
  readonly at: number;
  readonly provider: Promise<Configuration>;
}
const found = new WeakMap<Ground["config"], Found>();

/** The provider of the settings, asked about itself once an hour. Throws `UnreachableError`. */
function findProvider({ config, now }: Ground): Promise<Configuration> {
  const at = now().getTime();
  const before = found.get(config);
  if (before !== undefined && at - before.at < refreshMs) return before.provider;
  const provider = discover(config);
  found.set(config, { at, provider });
  provider.catch(() => found.delete(config));
  return provider;
}

async function discover(config: Ground["config"]): Promise<Configuration> {
  const { discovery, allowInsecureRequests } = await library();
  const { oidcIssuer: issuer = "", oidcClientId: id = "" } = config;
  const options = {
    timeout: answersWithinSeconds,
    // The settings allow this on loopback alone.
    ...(issuer.startsWith("http:") && { execute: [allowInsecureRequests] }),
  };
  for (let left = attempts; ; left -= 1)
    try {
      return await discovery(new URL(issuer), id, {}, await authenticationOf(config), options);
    } catch (error) {
      if (left <= 1) throw unreachable(issuer, error);
    }
}

/** How control proves to the provider who it is: with its secret in the way that the provider takes. */
async function authenticationOf({
  oidcClientSecretFile: file,
}: Ground["config"]): Promise<ClientAuth> {
  const { ClientSecretBasic, ClientSecretPost, None } = await library();
  if (file === undefined) return None();
  const secret = readFileSync(file, "utf8").trim();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...call) => {
    const { token_endpoint_auth_methods_supported: taken = ["client_secret_basic"] } = server;
    return (taken.includes("client_secret_basic") ? basic : post)(server, ...call);
  };
}

/** Where to send a browser that logs in, and what to remember until it is back. */
export async function beginAt(
  ctx: Ground,
  redirectUri: string,
): Promise<{ url: string; pending: Pending }> {
  const client = await library();
  const provider = await findProvider(ctx);
  const verifier = client.randomPKCECodeVerifier();
  const pending = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier,
    redirectUri,
  };
  const url = client.buildAuthorizationUrl(provider, {
    redirect_uri: redirectUri,
    scope: ctx.config.oidcScopes,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...{ state: pending.state, nonce: pending.nonce },
  });
  return { url: url.href, pending };
}

/**
 * Who has logged in, once the browser is back with these parameters. Throws `AuthenticationError` where
 * the provider refuses, or what it says does not fit, and `UnreachableError`.
 */
export async function finishAt(
  ctx: Ground,
  { state, nonce, verifier, redirectUri }: Pending,
  parameters: URLSearchParams,
): Promise<Claimed> {
  const client = await library();
  const provider = await findProvider(ctx);
  const back = new URL(`${redirectUri}?${parameters}`);
  const checks = {
    ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier },
    idTokenExpected: true,
  };
  try {
    const tokens = await client.authorizationCodeGrant(provider, back, checks);
    const claims = tokens.claims() ?? fail("AuthenticationError", "there is no ID token");
    const { oidcUserClaim, oidcGroupsClaim } = ctx.config;
    const isWhole = [oidcUserClaim, oidcGroupsClaim].every((name) => Object.hasOwn(claims, name));
    if (isWhole || provider.serverMetadata().userinfo_endpoint === undefined)
      return claimedIn(ctx.config, claims);
    const more = await client.fetchUserInfo(provider, tokens.access_token, claims.sub);
    return claimedIn(ctx.config, { ...more, ...claims });
  } catch (error) {
    throw await failureOf(ctx, error);
  }
}

/** Throws `AuthenticationError` for claims that name nobody, or whose e-mail may be somebody else's. */
function claimedIn(
  { oidcUserClaim: userClaim, oidcGroupsClaim: groupsClaim }: Ground["config"],
  claims: Readonly<Record<string, unknown>>,
): Claimed {
  const name = claims[userClaim];
  if (typeof name !== "string" || name === "")
    return fail(
      "AuthenticationError",
      `the identity provider does not say who you are: there is no claim ${userClaim}`,
    );
  if (userClaim === "email" && ["false", false].includes(claims["email_verified"] as never))
    fail(
      "AuthenticationError",
      `the identity provider has not verified the e-mail address ${name}`,
    );
  const groups = [claims[groupsClaim] ?? []].flat().filter((group) => typeof group === "string");
  return { name, groups };
}

async function failureOf({ config }: Ground, error: unknown): Promise<AppError> {
  const { AuthorizationResponseError, ClientError, ResponseBodyError } = await library();
  if (error instanceof AppError) return error;
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const why = error.error_description ?? error.error;
    return new AppError("AuthenticationError", `the identity provider refuses: ${why}`, {}, error);
  }
  if (error instanceof ClientError && error.code !== "OAUTH_TIMEOUT")
    return new AppError(
      "AuthenticationError",
      `the answer of the identity provider does not match this login: ${error.message}`,
      {},
      error,
    );
  return unreachable(config.oidcIssuer ?? "", error);
}

const unreachable = (issuer: string, error: unknown): AppError =>
  new AppError(
    "UnreachableError",
    `the identity provider at ${issuer} does not respond like one: ${(error as Error).message}`,
    {},
    error,
  );
