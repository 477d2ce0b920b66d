import type { IncomingMessage } from "node:http";
import type { Server } from "node:net";
import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { findIdentity } from "../access/directory.ts";
import { type Authenticator, type Identity, localUserId } from "../access/identity.ts";
import type { Context } from "../context.ts";
import { sessionsOf } from "../sessions/authenticate.ts";
import { basicOf } from "../sessions/basic.ts";
import { proxyOf } from "../sessions/proxy.ts";
import { tokensOf } from "../tokens/authenticate.ts";
import { openLocalAccess } from "./access.ts";

/** Finds out who calls. */
export interface Callers {
  /**
   * Who calls; undefined where a call carries no credential. Throws `AuthenticationError` for one
   * that is wrong.
   */
  identify(req: IncomingMessage): Promise<Identity | undefined>;
}

/** Every kind of credential; the first that a call carries decides. To add one: a file and a line. */
const authenticators: readonly ((ctx: Context) => Authenticator)[] = [
  tokensOf,
  basicOf,
  proxyOf,
  sessionsOf,
];

/** Reads credentials; where nobody logs in, this machine's user is let in without any. */
export function openCallers(ctx: Context, server: Server): Callers {
  const local = openLocalAccess(ctx.token, server);
  const hasLogin = ctx.config.login.length > 0;
  const chain = authenticators.map((open) => open(ctx));

  return {
    async identify(req) {
      if (local.carriesToken(req)) return findIdentity(ctx, homeToken);
      for (const read of hasLogin || carriesCredential(req) ? chain : []) {
        const proof = await read(req);
        if (proof !== undefined)
          return (await findIdentity(ctx, proof)) ?? fail("AuthenticationError", gone);
      }
      return !hasLogin && (await local.isOwn(req)) ? findIdentity(ctx, ownUser) : undefined;
    },
  };
}

/** Where nobody logs in, a proxy names no user, and credentials come in these headers alone. */
const carriesCredential = ({ headers }: IncomingMessage): boolean =>
  headers.authorization !== undefined || headers.cookie !== undefined;

const homeToken = { userId: localUserId, credential: "home token" };
const ownUser = { userId: localUserId, credential: "local" };
const gone = "the user of these credentials was deleted";

/** Throws what a caller is answered who has no credentials. */
export const refuseAnonymous = ({ config }: Pick<Context, "config">): never =>
  fail("AuthenticationError", config.login.length > 0 ? logIn : foreign);

const logIn = `log in first: \`${product.word} login\`, or send a token as \`Authorization: Bearer\``;
const foreign =
  "this control plane serves the user who started it; to call it as another user, send the token of " +
  "its home, which the command line reads from OUTRIGGER_TOKEN";
