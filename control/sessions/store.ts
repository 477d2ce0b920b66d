import type { Connection } from "../db/open.ts";

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
