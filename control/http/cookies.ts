import type { IncomingHttpHeaders } from "node:http";

/** The cookie that carries a session. */
export const sessionCookie = "outrigger_session";

/** The value of a cookie; the first where there are several. */
export function cookieOf({ cookie = "" }: IncomingHttpHeaders, name: string): string | null {
  for (const pair of cookie.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}
