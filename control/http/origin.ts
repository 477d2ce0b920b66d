import type { IncomingHttpHeaders } from "node:http";
import { fail } from "../../common/errors.ts";
import { isLoopback } from "../config.ts";

/**
 * Refuses calls that a web page in somebody's browser makes: one whose name was pointed at this
 * machine (its Host is not ours), or one from elsewhere (its Origin is not ours). Throws
 * `PermissionDeniedError`. Source: DNS rebinding; browsers always send both headers as they are.
 */
export function refuseForeignPages({ host, origin }: IncomingHttpHeaders): void {
  for (const address of [host && `http://${host}`, origin])
    if (address !== undefined && !isOurs(address))
      fail(
        "PermissionDeniedError",
        `calls to or from ${address} are refused: control answers on this machine's loopback ` +
          "address only, reached by that address",
      );
}

function isOurs(address: string): boolean {
  if (!URL.canParse(address)) return false;
  return isLoopback(new URL(address).hostname.replace(/^\[(.*)\]$/, "$1"));
}
