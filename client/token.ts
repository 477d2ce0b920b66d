import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCodeOf, fail } from "../common/errors.ts";
import { readNamed } from "../common/files.ts";
import { Secret } from "../common/secret.ts";
import { tokenFile } from "../contract/control-pid.ts";
import { findControl, listensAt } from "./control-process.ts";
import type { Settings } from "./settings.ts";

/**
 * What lets us in at an endpoint: the token of the settings; that of the context, at its own endpoint; or
 * that of our home, where its own control plane listens there now. On a port that it has left another
 * user's program might listen. Throws `ConfigError` for a context whose token cannot be read.
 */
export function tokenFor(settings: Settings, endpoint: string): Secret | undefined {
  if (settings.token !== undefined) return settings.token;
  if (settings.tokenFile !== undefined && endpoint === settings.endpoint)
    return readTokenFile(settings.tokenFile, settings.context);
  const control = findControl(settings);
  if (control?.port === undefined || !listensAt(control, addressIn(endpoint))) return undefined;
  return readToken(join(settings.home, tokenFile));
}

/** The host and the port of an endpoint. */
export function addressIn(endpoint: string): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(endpoint);
  const usual = protocol === "https:" ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port || usual) };
}

const longestToken = 64 * 1024;

/** The token in the file of a context; throws `ConfigError` where there is none. */
export function readTokenFile(file: string, context: string): Secret {
  try {
    const token = readNamed(file, { mostBytes: longestToken, mayBePipe: false }).toString().trim();
    if (token !== "") return new Secret(token);
  } catch (error) {
    const why = errorCodeOf(error) ?? "not a token file";
    fail("ConfigError", `context ${context}: cannot read its token file ${file} (${why})`);
  }
  return fail("ConfigError", `context ${context}: its token file ${file} is empty`);
}

function readToken(file: string): Secret | undefined {
  try {
    return new Secret(readFileSync(file, "utf8").trim());
  } catch (error) {
    if (["ENOENT", "EACCES"].includes(errorCodeOf(error) ?? "")) return undefined;
    throw error;
  }
}
