import type { IncomingHttpHeaders } from "node:http";
import { loginCookies } from "../../common/product.ts";
import { bearerOf } from "./bearer.ts";

/** The cookie that carries a session. */
export const sessionCookie = loginCookies.session;
/** The cookie that carries what control needs to know when the identity provider sends a browser back. */
export const loginCookie = loginCookies.pending;

/** The value of a cookie; the first where there are several. */
export function cookieOf({ cookie }: IncomingHttpHeaders, name: string): string | null {
  if (cookie === undefined) return null;
  for (const pair of cookie.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

/** The header that sets a cookie, which no script can read and no other site has sent along. */
export function setCookie(
  name: string,
  value: string,
  { site, path = "/", seconds }: { site: string; path?: string; seconds: number },
): string {
  const secure = site.startsWith("https:") ? "; Secure" : "";
  return `${name}=${value}; Path=${path}; Max-Age=${Math.floor(seconds)}; HttpOnly; SameSite=Lax${secure}`;
}

/** The secret of a session as a command line sends it. */
export const bearerSessionOf = (headers: IncomingHttpHeaders): string | null =>
  /^[\w-]{43}$/.exec(bearerOf(headers) ?? "")?.[0] ?? null;

/** The secret of the session that a call carries. */
export const sessionSecretOf = (headers: IncomingHttpHeaders): string | null =>
  bearerSessionOf(headers) ?? cookieOf(headers, sessionCookie);
