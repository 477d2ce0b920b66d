import { setImmediate as nextTurn } from "node:timers/promises";
import { shown } from "../../common/readable-line.ts";
import { pageRows } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import { type AuditRow, genesis, hashOf, type Link } from "./chain.ts";
import type { NewAudit } from "./schema.ts";

const charactersAtMost = 300;
const lineOf = (text: string): string => shown(text, charactersAtMost);

/** Adds an entry to the chain. */
export async function addAudit(tx: Connection, entry: NewAudit): Promise<void> {
  const last = (await findNewest(tx)) ?? genesis;
  const row = {
    seq: last.seq + 1,
    at: entry.at,
    user_id: entry.userId,
    user_name: lineOf(entry.userName),
    credential: lineOf(entry.credential),
    address: lineOf(entry.address),
    operation: entry.operation,
    subject: entry.subject && lineOf(entry.subject),
    outcome: entry.outcome,
    reason: entry.reason && lineOf(entry.reason),
    request_id: entry.requestId,
  };
  await insert(tx, { ...row, hash: hashOf(row, last) });
}

const insert = statement((tx: Connection, row: AuditRow) => tx.insertInto("audit").values(row));

/** The newest entry; there is none before the first call. */
export async function findNewest(db: Queries): Promise<Link | undefined> {
  const [row] = await selectNewest(db, {});
  return row && soundLink(row);
}

const selectNewest = statement((db: Queries) =>
  db
    .selectFrom("audit")
    .select(["seq", "hash"])
    .where("seq", "=", (newest) =>
      newest.selectFrom("audit").select(({ fn }) => fn.max("seq").as("seq")),
    ),
);

/** What the oldest entry that is kept must be chained to. */
export async function getBeginning(db: Queries): Promise<Link> {
  const row = await db
    .selectFrom("audit_dropped")
    .select(["seq", "hash"])
    .where("id", "=", 1)
    .executeTakeFirst();
  return row ? soundLink(row) : genesis;
}

/** The number of the oldest entry that is there. */
export async function findOldest(db: Queries): Promise<number | null> {
  const row = await db
    .selectFrom("audit")
    .select(({ fn }) => fn.min("seq").as("seq"))
    .executeTakeFirst();
  return row?.seq ?? null;
}

/** The entry of this number. */
export async function findLink(db: Queries, seq: number): Promise<Link | undefined> {
  const row = await db
    .selectFrom("audit")
    .select(["seq", "hash"])
    .where("seq", "=", seq)
    .executeTakeFirst();
  return row && soundLink(row);
}

/** Entries with greater numbers than this, oldest first. */
export async function listAfter(db: Queries, seq: number, limit = pageRows): Promise<AuditRow[]> {
  const rows = await db
    .selectFrom("audit")
    .selectAll()
    .where("seq", ">", seq)
    .orderBy("seq")
    .limit(limit)
    .execute();
  return rows.map(soundLink);
}

/** SQLite stores in any column whatever it is given. */
const soundLink = <Row extends Link>(row: Row): Row =>
  row.hash instanceof Uint8Array ? row : { ...row, hash: new Uint8Array() };

export interface AuditFilter {
  /** Only older entries than this number; null is all. */
  readonly before: number | null;
  readonly limit: number;
  /** By name or id. */
  readonly user: string | null;
  readonly operation: string | null;
  readonly refused: boolean;
}

/** Entries, newest first. Looks at a stretch at a time, and lets others have their turn in between. */
export async function listAudit(db: Queries, filter: AuditFilter): Promise<AuditRow[]> {
  const found: AuditRow[] = [];
  const newest = ((await findNewest(db))?.seq ?? 0) + 1;
  const { seq: oldest } = await getBeginning(db);
  let before = Math.min(filter.before ?? newest, newest);
  while (before > oldest + 1 && found.length < filter.limit) {
    const from = before - stretchRows;
    found.push(...(await listStretch(db, from, before, filter, filter.limit - found.length)));
    before = from;
    await nextTurn();
  }
  return found;
}

const stretchRows = 10 * pageRows;

async function listStretch(
  db: Queries,
  from: number,
  before: number,
  { user, operation, refused }: AuditFilter,
  limit: number,
): Promise<AuditRow[]> {
  let query = db
    .selectFrom("audit")
    .selectAll()
    .where("seq", ">=", from)
    .where("seq", "<", before)
    .orderBy("seq", "desc")
    .limit(limit);
  if (user !== null)
    query = query.where(({ eb, or }) => or([eb("user_id", "=", user), eb("user_name", "=", user)]));
  if (operation !== null) query = query.where("operation", "=", operation);
  if (refused) query = query.where("outcome", "=", "refused");
  return (await query.execute()).map(soundLink);
}

/** Drops entries up to one; what is left is chained to that. */
export async function dropUpTo(tx: Connection, last: Link): Promise<void> {
  const { seq, hash } = last;
  await tx.deleteFrom("audit").where("seq", "<=", seq).execute();
  await tx
    .insertInto("audit_dropped")
    .values({ id: 1, seq, hash })
    .onConflict((other) => other.column("id").doUpdateSet({ seq, hash }))
    .execute();
}
