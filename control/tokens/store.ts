import type { Selectable } from "kysely";
import type { Connection, Queries } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";

/** A token of a service account. Its secret is nowhere; instants are epoch milliseconds. */
export interface Token {
  readonly id: string;
  readonly name: string;
  /** The service account. */
  readonly userId: string;
  readonly creatorId: string;
  readonly creatorName: string;
  readonly createdAt: number;
  /** Null where it does not expire. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

type Row = Omit<Selectable<Tables["tokens"]>, "digest">;

const columns = [
  ...["id", "name", "user_id", "creator_id", "creator_name"],
  ...["created_at", "expires_at", "last_used_at"],
] as const satisfies (keyof Row)[];

/** The token with this id. */
export async function findToken(db: Queries, id: string): Promise<Token | undefined> {
  const query = db.selectFrom("tokens").select(columns).where("id", "=", id);
  const row = await query.executeTakeFirst();
  return row && toToken(row);
}

/** The token whose secret has this SHA-256. */
export async function findTokenByDigest(
  db: Queries,
  digest: Uint8Array,
): Promise<Token | undefined> {
  const query = db.selectFrom("tokens").select(columns).where("digest", "=", digest);
  const row = await query.executeTakeFirst();
  return row && toToken(row);
}

/** Notes when a token was used. */
export async function setLastUsed(db: Connection, id: string, at: number): Promise<void> {
  await db.updateTable("tokens").set({ last_used_at: at }).where("id", "=", id).execute();
}

const toToken = (row: Row): Token => ({
  id: row.id,
  name: row.name,
  userId: row.user_id,
  creatorId: row.creator_id,
  creatorName: row.creator_name,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
});
