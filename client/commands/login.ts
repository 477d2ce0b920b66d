import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { Secret } from "../../common/secret.ts";
import { authOperations as rows } from "../../contract/operations/auth.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { type Context, homeContext, readContexts } from "../contexts.ts";
import { readEndpoint } from "../endpoint.ts";
import { keepContext, keepLogin, nameFor } from "../logins.ts";
import { type Client, type Health, openClient } from "../sdk.ts";
import { readTokenFile, tokenFor } from "../token.ts";
import type { World } from "../world.ts";
import { tellDone } from "./actions.ts";
import { tellUsed } from "./context.ts";

/** Where a login is for: the context of a name, which `--endpoint` may make. */
interface Place {
  readonly name: string;
  readonly context: Context;
  readonly isNew: boolean;
}

const askEveryMs = 1_000;
const patienceMs = 300_000;

/** `outrigger login`. */
export const login: Command<"login"> = async (world, _operands, options) => {
  const { settings, cwd } = world;
  const place = placeOf(world, options);
  const { name, context, isNew } = place;
  if (options.tokenFile !== undefined) {
    const tokenFile = resolve(cwd, options.tokenFile);
    const health = await healthWith(world, context.endpoint, readTokenFile(tokenFile, name));
    keepContext(settings, name, { ...context, tokenFile }, isNew);
    return finish(world, place, health);
  }
  const known = options.relogin === true ? undefined : await knownAs(world, place);
  if (known !== undefined) {
    // The control plane of the home needs no context.
    const isAsked = options.endpoint !== undefined && isNew;
    if (isAsked) keepContext(settings, name, context, true);
    return finish(world, { ...place, isNew: isAsked }, known);
  }
  const secret = await approvedSession(world, context.endpoint);
  const health = await healthWith(world, context.endpoint, new Secret(secret));
  keepLogin(settings, name, context, secret, isNew);
  return finish(world, place, health);
};

/** Throws `UsageError` where a login would not be used. */
function placeOf({ settings }: World, { endpoint: given }: OptionsOf<"login">): Place {
  const contexts = readContexts(settings);
  const { context: current, origins } = settings;
  const { kind, name: variable } = origins.endpoint;
  if (given === undefined && kind === "environment" && /ENDPOINT$/.test(variable ?? ""))
    fail(
      "UsageError",
      `${variable} is set, and no login belongs to it: unset it, and name --endpoint`,
    );
  const endpoint = given === undefined ? settings.endpoint : readEndpoint(given, "--endpoint");
  const isHome = current === homeContext || given !== undefined;
  const name = isHome ? nameFor(contexts, endpoint) : current;
  const known = contexts.contexts[name];
  return { name, context: known ?? { endpoint }, isNew: known === undefined };
}

/** How control knows us already; undefined where it wants a login. */
async function knownAs(world: World, { name, context }: Place): Promise<Health | undefined> {
  const { endpoint, tokenFile } = context;
  try {
    const token =
      tokenFile === undefined ? tokenFor(world.settings, endpoint) : readTokenFile(tokenFile, name);
    const health = await healthWith(world, endpoint, token);
    return health.status === "healthy" ? health : undefined;
  } catch (error) {
    const isRefusal = error instanceof AppError && error.type === "AuthenticationError";
    const isGone =
      error instanceof AppError && error.type === "ConfigError" && tokenFile !== undefined;
    if (isRefusal || isGone) return undefined;
    throw error;
  }
}

async function healthWith(world: World, endpoint: string, token?: Secret): Promise<Health> {
  const client = clientAt(world, endpoint, token);
  return client.health().finally(() => client.close());
}

const clientAt = ({ signal }: World, endpoint: string, token?: Secret): Client =>
  openClient({
    ...{ endpoint, token, workspace: undefined },
    ...{ origin: `${product.word} login`, signal },
  });

/** A session that the user approves in a browser. Throws `TimeoutError` when nobody does. */
async function approvedSession(world: World, endpoint: string): Promise<string> {
  const { terminal, signal } = world;
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const url = `${endpoint}/auth/authorize?code_challenge=${challenge}`;
  terminal.note(`Open this page, log in and authorize:\n\n  ${url}\n`);
  openBrowser(world, url);
  const client = clientAt(world, endpoint);
  const deadline = Date.now() + patienceMs;
  try {
    while (Date.now() < deadline) {
      const token = await client.call(rows.token, { code_verifier: verifier }).catch(waits);
      if (token !== undefined) return sessionIn(token.token);
      await sleep(askEveryMs, undefined, { signal });
    }
  } finally {
    await client.close();
  }
  return fail("TimeoutError", "nobody authorized the login within five minutes; run it again");
}

/** Shows a page in the user's browser, if there is one here; the page is named to the user anyway. */
function openBrowser({ terminal, env }: Pick<World, "terminal" | "env">, url: string): void {
  const hasScreen = process.platform === "darwin" || env["DISPLAY"] || env["WAYLAND_DISPLAY"];
  if (!terminal.isLive || !hasScreen) return;
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.once("error", () => {});
  child.unref();
}

/** Undefined for an error that says to ask again. */
function waits(error: unknown): undefined {
  if (error instanceof AppError && ["NotFoundError", "UnreachableError"].includes(error.type))
    return;
  throw error;
}

function sessionIn(token: string): string {
  const { cookies } = JSON.parse(Buffer.from(token, "base64").toString("utf8"));
  const secret = Object.values(cookies ?? {})[0];
  return typeof secret === "string" ? secret : fail("RuntimeError", "the login has no session");
}

/** Prints the user and the context that later commands use. */
function finish(world: World, { name, isNew }: Place, { user }: Health): undefined {
  const { terminal, env } = world;
  terminal.note(
    user ? `Logged in as ${user.name ?? user.id}.` : "This control plane needs no login.",
  );
  if (isNew) tellUsed(terminal, env, name);
  return tellDone(world, "login", name);
}
