import { product } from "../../common/product.ts";
import { authOperations as rows } from "../../contract/operations/auth.ts";
import { sessionCookie, setCookie } from "../access/cookies.ts";
import { digestOf } from "../access/digest.ts";
import { addAudit } from "../audit/store.ts";
import { type Bound, bind, type Call, type Reply } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { loginEntry } from "./begin.ts";
import { approve, fetchToken } from "./client-login.ts";
import { authorizePage, tokenPage } from "./client-pages.ts";
import { loginPage } from "./login-page.ts";
import { finishOidc, startOidc } from "./oidc.ts";
import { goTo, originOf } from "./page.ts";
import { logIn } from "./passwords.ts";
import { methodOf } from "./schema.ts";
import { endSession } from "./store.ts";

/** How people log in: with browsers, and with clients through a browser. */
export const sessionOperations: Bound[] = [
  bind(rows.loginPage, loginPage),
  bind(rows.login, logIn),
  bind(rows.logout, logout),
  bind(rows.oidcStart, startOidc),
  bind(rows.oidcCallback, finishOidc),
  bind(rows.tokenPage, tokenPage),
  bind(rows.authorizePage, authorizePage),
  bind(rows.authorize, approve),
  bind(rows.token, fetchToken),
];

/** Ends the session that the call carries; a browser goes to where it can log in again. */
async function logout(ctx: Ground, _input: unknown, call: Call): Promise<Reply> {
  const { site, session, address, wantsPage } = originOf(call);
  const { user, credential } = call;
  if (session !== null && user.id !== "")
    await ctx.batch(async (tx) => {
      await endSession(tx, digestOf(session));
      const who = { userId: user.id, userName: user.name, method: methodOf(credential), address };
      await addAudit(tx, loginEntry(ctx, "logout", who));
    });
  const cleared = [setCookie(sessionCookie, "", { site: site(), seconds: 0 })];
  if (wantsPage) return goTo("/login", cleared);
  const headers = { "content-type": "text/plain; charset=utf-8", "set-cookie": cleared };
  return { headers, body: `logged out of ${product.title}\n` };
}
