import { sql } from "kysely";
import { covers, type Role, roleNames } from "../../contract/roles.ts";
import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { rowsOf } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { inForce, type Known, knownColumns, toKnown } from "../users/store.ts";
import type { Token } from "./schema.ts";

const tokens = rowsOf<Token>()(
  "tokens",
  [
    ...(["id", "name", "userId", "creatorId", "creatorName"] as const),
    ...(["createdAt", "expiresAt", "lastUsedAt"] as const),
  ],
  {},
);
const { columns } = tokens;

/** The token with this id. */
export const findToken = (db: Queries, id: string): Promise<Token | undefined> =>
  tokens.find(db, { id });

/** What is asked of a token for each call, and its user. */
type InUse = Pick<Token, "id" | "name" | "expiresAt" | "lastUsedAt"> & { readonly known: Known };

/** The token whose secret has this SHA-256. */
export async function findTokenByDigest(
  db: Queries,
  digest: Uint8Array,
): Promise<InUse | undefined> {
  const [row] = await selectByDigest(db, { digest });
  if (row === undefined) return undefined;
  const { id, name, expires_at: expiresAt, last_used_at: lastUsedAt } = row;
  return { id, name, expiresAt, lastUsedAt, known: toKnown(row) };
}

const selectByDigest = statement((db: Queries, { digest }: { readonly digest: Uint8Array }) =>
  db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .select(["tokens.id", "tokens.name", "expires_at", "last_used_at"])
    .select(knownColumns)
    .select(inForce)
    .where("digest", "=", digest),
);

/** Every token, with the role of its account, by name. */
export async function listTokens(db: Queries): Promise<(Token & { readonly role: Role })[]> {
  const rows = await db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .select(columns.map((name) => `tokens.${name}` as const))
    .select("users.role")
    .orderBy("tokens.name")
    .execute();
  return rows.map((row) => ({ ...tokens.toItem(row), role: row.role }));
}

/** Writes a new token; false when its name is taken. */
export const addToken = (db: Connection, token: Token, digest: Uint8Array): Promise<boolean> =>
  tokens.add(db, token, { digest });

/** Gives a token another secret. */
export const setSecret = (
  db: Connection,
  id: string,
  digest: Uint8Array,
  { createdAt, expiresAt }: Pick<Token, "createdAt" | "expiresAt">,
): Promise<void> => tokens.change(db, { id }, { createdAt, expiresAt }, { digest });

/** Notes when a token was used. */
export const setLastUsed = (db: Connection, id: string, at: number): Promise<void> =>
  tokens.change(db, { id }, { lastUsedAt: at });

/** Ids of the service accounts that a user made, and of those that these made. */
export async function listAccountsOf(db: Queries, creatorId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    WITH RECURSIVE made (id) AS (
      SELECT user_id FROM tokens WHERE creator_id = ${creatorId}
      UNION SELECT user_id FROM tokens JOIN made ON creator_id = made.id)
    SELECT id FROM made`.execute(db);
  return rows.map(({ id }) => id);
}

/** Lowers the roles of a user's service accounts to the user's: none may do more than its creator. */
export async function capAccountsOf(db: Connection, creatorId: string, role: Role): Promise<void> {
  const above = roleNames.filter((one) => !covers(role, one));
  if (above.length === 0) return;
  const ids = await listAccountsOf(db, creatorId);
  await db
    .updateTable("users")
    .set({ role })
    .where("id", "in", among(ids))
    .where("role", "in", above)
    .execute();
}
