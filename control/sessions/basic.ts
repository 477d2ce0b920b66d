import { createHmac, randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { Authenticator, Head } from "../access/identity.ts";
import { openProxies } from "../access/proxies.ts";
import type { Ground } from "../ground.ts";
import { listNamed } from "../users/store.ts";
import { checkPassword } from "./check-password.ts";

/** A password that was right, for a while: to compare one takes tenths of a second. */
interface Known {
  readonly userId: Promise<string>;
  /** The hash that it was compared with. */
  readonly stored: string | null;
  readonly until: number;
}

const rememberedMs = 300_000;
const rememberedAtMost = 1_000;

/**
 * Reads names and passwords that come with each call, as in http://ann:secret@host. Successes are
 * remembered under a key of this process, and no longer than the password is the user's.
 */
export function basicOf(ctx: Ground): Authenticator {
  const key = randomBytes(32);
  const known = new Map<string, Known>();
  const proxies = openProxies(ctx.config.proxyAddresses);

  async function userIdOf(head: Head, name: string, password: string): Promise<string> {
    const now = ctx.now().getTime();
    const digest = createHmac("sha256", key).update(`${name}\0${password}`).digest("base64");
    const stored = (await listNamed(ctx.db, [name]))[0]?.password ?? null;
    const before = known.get(digest);
    if (before !== undefined && before.stored === stored && before.until > now)
      return before.userId;
    const address = proxies.clientOf(head);
    const userId = checkPassword(ctx, { name, password, address }).then(({ id }) => id);
    known.delete(digest);
    known.set(digest, { userId, stored, until: now + rememberedMs });
    const [oldest] = known.keys();
    if (known.size > rememberedAtMost && oldest !== undefined) known.delete(oldest);
    // Failures are not remembered, but all that come meanwhile end as this one does.
    userId.catch(() => known.delete(digest));
    return userId;
  }

  return async (head) => {
    // Where nobody logs in, only this machine's user is served, whatever comes along.
    if (ctx.config.login.length === 0) return undefined;
    const [, encoded] = /^basic +(\S+)$/i.exec(head.headers.authorization ?? "") ?? [];
    if (encoded === undefined) return undefined;
    if (!ctx.config.login.includes("password"))
      return fail("AuthenticationError", "password login is not enabled here");
    const text = Buffer.from(encoded, "base64").toString("utf8");
    const at = text.indexOf(":");
    if (at < 0) fail("AuthenticationError", "Authorization: Basic has no name and password");
    const userId = await userIdOf(head, text.slice(0, at), text.slice(at + 1));
    return { userId, credential: "password" };
  };
}
