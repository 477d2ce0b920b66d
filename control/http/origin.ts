import type { IncomingHttpHeaders } from "node:http";
import { fail } from "../../common/errors.ts";
import { isLoopback } from "../config.ts";

/**
 * Refuses calls that a web page in somebody's browser makes: one whose name was pointed at this
 * machine (its Host is not ours), or one from elsewhere (its Origin is not that Host; what a job or a
 * service shows on another port of this machine is elsewhere, too). Throws `PermissionDeniedError`.
 * Source: DNS rebinding; browsers always send both headers as they are.
 */
export function refuseForeignPages({ host, origin }: IncomingHttpHeaders): void {
  const called = host && `http://${host}`;
  if (called !== undefined && !isOurs(called)) refuse(called);
  if (origin === undefined) return;
  if (!isOurs(origin) || (called !== undefined && hostOf(origin) !== hostOf(called)))
    refuse(origin);
}

const refuse = (address: string): never =>
  fail(
    "PermissionDeniedError",
    `calls to or from ${address} are refused: control answers on this machine's loopback ` +
      "address only, reached by that address",
  );

function isOurs(address: string): boolean {
  if (!URL.canParse(address)) return false;
  return isLoopback(new URL(address).hostname.replace(/^\[(.*)\]$/, "$1"));
}

/** Name and port, without the port that goes without saying. */
const hostOf = (address: string): string => new URL(address).host;
