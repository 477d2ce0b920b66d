import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCodeOf } from "../common/errors.ts";
import { Secret } from "../common/secret.ts";
import { tokenFile } from "../contract/control-pid.ts";
import { findControl, listensAt } from "./control-process.ts";
import type { Settings } from "./settings.ts";

/**
 * What lets us in at an endpoint: the token of the settings; or that of our home, where its own control
 * plane listens there now. On a port that it has left another user's program might listen.
 */
export function tokenFor(settings: Settings, endpoint: string): Secret | undefined {
  if (settings.token !== undefined) return settings.token;
  const control = findControl(settings);
  if (control?.port === undefined || !listensAt(control, addressIn(endpoint))) return undefined;
  return readToken(join(settings.home, tokenFile));
}

function addressIn(endpoint: string): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(endpoint);
  const usual = protocol === "https:" ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port || usual) };
}

function readToken(file: string): Secret | undefined {
  try {
    return new Secret(readFileSync(file, "utf8").trim());
  } catch (error) {
    if (["ENOENT", "EACCES"].includes(errorCodeOf(error) ?? "")) return undefined;
    throw error;
  }
}
