import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import { inForce, type Known, knownColumns, toKnown } from "../users/store.ts";
import type { Session } from "./schema.ts";

/** Writes a new session down. */
export async function addSession(db: Connection, session: Session): Promise<void> {
  const { digest, userId, method, createdAt, expiresAt } = session;
  const row = { digest, user_id: userId, method, created_at: createdAt, expires_at: expiresAt };
  await db.insertInto("sessions").values(row).execute();
}

/** The session with this digest, and its user, unless it has expired. */
export async function findSession(
  db: Queries,
  digest: Uint8Array,
  now: number,
): Promise<(Pick<Session, "userId" | "method"> & { readonly known: Known }) | undefined> {
  const [row] = await selectSession(db, { digest, now });
  return row && { userId: row.user_id, method: row.method, known: toKnown(row) };
}

type Sought = { readonly digest: Uint8Array; readonly now: number };
const selectSession = statement((db: Queries, { digest, now }: Sought) =>
  db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .select("method")
    .select(knownColumns)
    .select(inForce)
    .where("digest", "=", digest)
    .where("expires_at", ">", now),
);

/** Ends a session; one that has ended is as good. */
export async function endSession(db: Connection, digest: Uint8Array): Promise<void> {
  await db.deleteFrom("sessions").where("digest", "=", digest).execute();
}

/**
 * Ends the sessions of a user, and logins that the user approved and nobody fetched yet. The session
 * with the digest `kept` goes on.
 */
export async function endSessionsOf(
  db: Connection,
  userId: string,
  kept: Uint8Array | null = null,
): Promise<void> {
  let sessions = db.deleteFrom("sessions").where("user_id", "=", userId);
  if (kept !== null) sessions = sessions.where("digest", "<>", kept);
  await sessions.execute();
  await db.deleteFrom("approvals").where("user_id", "=", userId).execute();
}

/** The login of a client that a user has approved. */
export interface Approval extends Pick<Session, "userId" | "method" | "expiresAt"> {
  readonly challenge: string;
}

/** Writes an approval down, in the place of an earlier one of the same challenge. */
export async function setApproval(db: Connection, approval: Approval): Promise<void> {
  const { challenge, userId, method, expiresAt } = approval;
  const row = { challenge, user_id: userId, method, expires_at: expiresAt };
  await db.replaceInto("approvals").values(row).execute();
}

/** Whose login was approved with a challenge, also where that has ended. */
export async function findApprover(db: Queries, challenge: string): Promise<string | undefined> {
  const query = db.selectFrom("approvals").select("user_id").where("challenge", "=", challenge);
  return (await query.executeTakeFirst())?.user_id;
}

/** Ends an approval, so that nobody else can use it; undefined where there is none, or no more. */
export async function takeApproval(
  db: Connection,
  challenge: string,
  now: number,
): Promise<Pick<Session, "userId" | "method"> | undefined> {
  const row = await db
    .updateTable("approvals")
    .set({ expires_at: now })
    .where("challenge", "=", challenge)
    .where("expires_at", ">", now)
    .returning(["user_id", "method"])
    .executeTakeFirst();
  return row && { userId: row.user_id, method: row.method };
}

/** Deletes what has expired. */
export async function dropExpired(db: Connection, now: number): Promise<void> {
  for (const table of ["sessions", "approvals"] as const)
    await db.deleteFrom(table).where("expires_at", "<=", now).execute();
}
