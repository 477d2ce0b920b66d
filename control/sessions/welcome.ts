import { sessionCookie, setCookie } from "../access/cookies.ts";
import { localPath } from "../access/places.ts";
import type { Call, Reply } from "../bind.ts";
import type { Ground } from "../ground.ts";
import type { Account } from "../users/schema.ts";
import { beginSession } from "./begin.ts";
import { goTo, originOf } from "./page.ts";

const hourSeconds = 3_600;

/** Gives the browser of a user who has just logged in a new session, and sends it on. */
export async function welcome(
  ctx: Ground,
  call: Call,
  { user, method, next }: { user: Account; method: string; next: string | null },
  cookies: readonly string[] = [],
): Promise<Reply> {
  const { site, address, session } = originOf(call);
  const who = { userId: user.id, userName: user.name, method, address };
  const secret = await ctx.batch((tx) => beginSession(ctx, tx, who, session));
  const seconds = ctx.config.sessionHours * hourSeconds;
  return goTo(localPath(next), [
    setCookie(sessionCookie, secret, { site: site(), seconds }),
    ...cookies,
  ]);
}
