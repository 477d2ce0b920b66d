import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { fail } from "../common/errors.ts";
import { product, readEnv } from "../common/product.ts";
import { Secret } from "../common/secret.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** What the client reads from its environment. */
export interface Settings {
  /** Address of the control plane, without a slash at the end. */
  readonly endpoint: string;
  /** Folder of the control plane that `api start` starts, and of this user's identity. */
  readonly home: string;
  /** What lets us in at `endpoint`, where that is given. */
  readonly token: Secret | undefined;
  /** Who calls, where that is given; otherwise this user has a hash of their own in `home`. */
  readonly userId: string | undefined;
  readonly userName: string;
}

export const defaultPort = 46_580;

/** Reads the settings; throws `ConfigError` for an endpoint that is no http address. */
export function readSettings(env: Env): Settings {
  const endpoint = readEnv(env, "ENDPOINT") || `http://127.0.0.1:${defaultPort}`;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    fail("ConfigError", `OUTRIGGER_ENDPOINT: ${endpoint} is not an http or https address`);
  return {
    endpoint: endpoint.replace(/\/+$/, ""),
    home: resolve(readEnv(env, "HOME") || join(homedir(), `.${product.word}`)),
    token: tokenIn(env),
    userId: readEnv(env, "USER_ID"),
    userName: readEnv(env, "USER") ?? env["USER"] ?? userInfo().username,
  };
}

function tokenIn(env: Env): Secret | undefined {
  const token = readEnv(env, "TOKEN")?.trim();
  return token ? new Secret(token) : undefined;
}

/** Whether the control plane sees the same files as we do. */
export function isLocal(endpoint: string): boolean {
  return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1\])$/.test(new URL(endpoint).hostname);
}
