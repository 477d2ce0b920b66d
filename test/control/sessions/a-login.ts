import { createHash, randomBytes, scryptSync } from "node:crypto";
import type { Context } from "../../../control/context.ts";
import { beginSession } from "../../../control/sessions/begin.ts";
import type { Account } from "../../../control/users/schema.ts";
import { addUser } from "../../../control/users/store.ts";
import type { Answer } from "../../helpers/http-client.ts";
import { anAccount } from "../../helpers/users.ts";

/** What a client keeps to itself, and what the page that approves its login is told. */
export function aClient(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: challengeOf(verifier) };
}

/** Source: RFC 7636, S256. */
export const challengeOf = (verifier: string): string =>
  createHash("sha256").update(verifier).digest("base64url");

/** The login that a token carries. */
export function loginIn({ json }: Pick<Answer, "json">): { user: string; secret: string } {
  const { v, user, cookies } = JSON.parse(Buffer.from(String(json["token"]), "base64").toString());
  if (v !== 1) throw new Error(`a token of version ${v}`);
  return { user, secret: cookies.outrigger_session };
}

/** The headers of a browser with this session. */
export const cookieWith = (secret: string) => ({ cookie: `other=1; outrigger_session=${secret}` });

/** The value of a cookie that an answer sets. */
export const cookieIn = ({ headers }: Pick<Answer, "headers">, name = "outrigger_session") => {
  const set = [headers["set-cookie"] ?? []].flat().find((one) => one.startsWith(`${name}=`));
  return set?.slice(name.length + 1).split(";")[0];
};

/** A user who has logged in; the secret of the session. */
export async function aSessionOf(ctx: Context, given: Partial<Account> & { name: string }) {
  const user = anAccount(given);
  const from = { method: "password", userName: user.name, address: "10.0.0.1" };
  return ctx.batch(async (tx) => {
    await addUser(tx, user);
    return beginSession(ctx, tx, { userId: user.id, ...from });
  });
}

/** What the audit log says of logins, oldest first: `login allowed user ann, password`. */
export async function loginsIn(ctx: Context): Promise<string[]> {
  const rows = await ctx.db.selectFrom("audit").selectAll().orderBy("seq").execute();
  return rows
    .filter(({ operation }) => /^log(in|out)/.test(operation))
    .map(
      ({ operation, outcome, subject, credential }) =>
        `${operation} ${outcome} ${subject}, ${credential}`,
    );
}

/** Why calls were refused, oldest first. */
export async function reasonsIn(ctx: Context): Promise<string[]> {
  const rows = await ctx.db.selectFrom("audit").select("reason").orderBy("seq").execute();
  return rows.flatMap(({ reason }) => reason ?? []);
}

/** A user with a password. */
export async function aUserWith(ctx: Context, name: string, password: string): Promise<void> {
  await ctx.batch((tx) => addUser(tx, anAccount({ name }), cheapHashOf(password)));
}

/** As control makes none: it takes next to no time, because a hash says itself what it costs. */
export function cheapHashOf(password: string): string {
  const salt = randomBytes(16);
  const key = scryptSync(password, salt, 32, { N: 2 ** 2, r: 1, p: 1 });
  return `$scrypt$ln=2,r=1,p=1$${salt.toString("base64url")}$${key.toString("base64url")}`;
}

/** The body and headers of a form as a browser posts it. */
export const form = (fields: Record<string, string>, headers: Record<string, string> = {}) => ({
  body: String(new URLSearchParams(fields)),
  headers: { "content-type": "application/x-www-form-urlencoded", accept: "text/html", ...headers },
});
