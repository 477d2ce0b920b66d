import { randomBytes } from "node:crypto";
import { digestOf } from "../access/digest.ts";
import { listed, writeEntries } from "../audit/entry.ts";
import type { NewAudit } from "../audit/schema.ts";
import { addAudit } from "../audit/store.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import type { Session } from "./schema.ts";
import { addSession, endSession } from "./store.ts";

const secretBytes = 32;
const hourMs = 3_600_000;

/** Who logs in, how, and from where. */
export interface LoggedIn extends Pick<Session, "userId" | "method"> {
  readonly userName: string;
  readonly address: string;
}

/**
 * Begins a session with a secret of its own, returned this once and stored nowhere. The session `before`
 * it, which a browser brought along, ends.
 */
export async function beginSession(
  ctx: Ground,
  tx: Connection,
  user: LoggedIn,
  before: string | null = null,
): Promise<string> {
  const secret = randomBytes(secretBytes).toString("base64url");
  const createdAt = ctx.now().getTime();
  const { userId, method } = user;
  if (before !== null) await endSession(tx, digestOf(before));
  await addSession(tx, {
    ...{ digest: digestOf(secret), userId, method, createdAt },
    expiresAt: createdAt + ctx.config.sessionHours * hourMs,
  });
  await addAudit(tx, loginEntry(ctx, "login", user));
  return secret;
}

type LoginOperation = "login" | "logout" | "login.approve";

/** Writes down that a login was refused; `userName` is what somebody claimed. */
export const auditRefusedLogin = (
  ctx: Ground,
  claimed: Omit<LoggedIn, "userId"> & Partial<LoggedIn>,
  refusal: Error,
  operation: LoginOperation = "login",
): Promise<void> =>
  writeEntries(ctx, listed(ctx, loginEntry(ctx, operation, { userId: "", ...claimed }, refusal)));

/** What is written down of a login and its like. Of a refused one the name is what somebody claimed. */
export function loginEntry(
  { now }: Pick<Ground, "now">,
  operation: LoginOperation,
  { userId, userName, method, address }: LoggedIn,
  refusal?: Error,
): NewAudit {
  return {
    at: now().getTime(),
    ...{ userId, userName: userId === "" ? "" : userName },
    ...{ credential: method, address, operation },
    subject: userName === "" ? null : `user ${userName}`,
    outcome: refusal === undefined ? "allowed" : "refused",
    reason: refusal?.message ?? null,
    requestId: null,
  };
}
