import type { FastifyRequest } from "fastify";
import { fail } from "../../common/errors.ts";
import { isLoopback } from "../login-settings.ts";

type Head = Pick<FastifyRequest, "method" | "headers" | "site">;

/**
 * Refuses calls that a web page of others makes in somebody's browser: one from elsewhere (its Origin
 * is not its site; what a job or a service shows on another port of this machine is elsewhere, too), and
 * without logins one whose name was pointed at this machine (its Host is not ours). Throws
 * `PermissionDeniedError`. Source: DNS rebinding; Fetch Metadata. Browsers always send what they know.
 */
export function refuseForeignPages(req: Head, hasLogin: boolean): void {
  const { method, headers } = req;
  const { host, origin } = headers;
  const refuse = hasLogin ? refuseElsewhere : refuseUnlessLocal;
  if (!hasLogin && host !== undefined && !isOurs(`http://${host}`)) refuse(`http://${host}`);
  if (origin !== undefined) {
    const isKnown = hasLogin ? URL.canParse(origin) : isOurs(origin);
    const called = host === undefined ? undefined : hostOf(req.site);
    if (!isKnown || (called !== undefined && hostOf(origin) !== called)) refuse(origin);
  }
  const from = headers["sec-fetch-site"];
  if (method !== "GET" && (from === "cross-site" || from === "same-site")) refuse("another site");
}

const refuseUnlessLocal = (address: string): never =>
  fail(
    "PermissionDeniedError",
    `calls to or from ${address} are refused: control answers on this machine's loopback ` +
      "address only, reached by that address",
  );

const refuseElsewhere = (address: string): never =>
  fail(
    "PermissionDeniedError",
    `calls from pages of ${address} are refused; if that is the address of this control plane, ` +
      "set OUTRIGGER_PUBLIC_URL to it",
  );

function isOurs(address: string): boolean {
  if (usual.test(address)) return true;
  if (!URL.canParse(address)) return false;
  return isLoopback(new URL(address).hostname.replace(/^\[(.*)\]$/, "$1"));
}

/** How nearly all callers write our address; others are read as browsers read them, which takes longer. */
const usual = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:[1-5]?\d{1,4})?$/;

/** Name and port, without the port that goes without saying. */
const hostOf = (address: string): string => new URL(address).host;
