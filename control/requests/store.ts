import { type Selectable, sql } from "kysely";
import { type RequestStatus, requestMachine } from "../../contract/statuses.ts";
import { among, pageRows } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { rowsOf, user } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.ts";
import type { EndedRequest, Ending, StoredRequest } from "./schema.ts";

/** The statuses of requests that have not ended. */
export const unended = requestMachine.names.filter((status) => !requestMachine.isFinal(status));
/** The statuses from which a request may go to another. */
const before = (to: RequestStatus): RequestStatus[] =>
  requestMachine.names.filter((from) => requestMachine.allows(from, to));
const requests = rowsOf<StoredRequest>()(
  "requests",
  [
    ...(["id", "name", "status", "queue", "clusterName", "clientApi"] as const),
    ...(["workspace", "statusNote", "createdAt", "finishedAt"] as const),
  ],
  { user },
);
const { columns } = requests;

/** A new request. `input` is sealed. */
export interface NewRequest {
  id: string;
  name: string;
  queue: "long" | "short";
  userId: string;
  userName: string;
  clusterName: string | null;
  clientApi: number | null;
  workspace: string;
  /** What proved who asks. */
  credential: string;
  input: Uint8Array;
  createdAt: number;
}

/** Writes a request down. */
export async function addRequest(db: Connection, request: NewRequest): Promise<void> {
  await insert(db, {
    id: request.id,
    name: request.name,
    status: requestMachine.initial,
    queue: request.queue,
    user_id: request.userId,
    user_name: request.userName,
    cluster_name: request.clusterName,
    client_api: request.clientApi,
    workspace: request.workspace,
    credential: request.credential,
    input: request.input,
    created_at: request.createdAt,
  });
}

/** Results may be long: they are read only where they are fetched. */
type Outcome = "return_value" | "error";
type NewRow = Omit<
  Selectable<Tables["requests"]>,
  "progress" | "status_note" | "finished_at" | "runs" | Outcome
>;

const insert = statement((db: Connection, row: NewRow) => db.insertInto("requests").values(row));

/** Marks a request as worked on; false when it has ended meanwhile. */
export const setRunning = (db: Connection, id: string): Promise<boolean> => run(db, id, 0);

/** Marks a request as worked on, once more. */
export async function setBegun(db: Connection, id: string): Promise<void> {
  await run(db, id, 1);
}

async function run(db: Connection, id: string, more: number): Promise<boolean> {
  const changed = await updateRunning(db, { more, id, unended });
  return changed.length > 0;
}

type Running = {
  readonly more: number;
  readonly id: string;
  readonly unended: readonly RequestStatus[];
};

const updateRunning = statement((db: Connection, { more, id, unended }: Running) =>
  db
    .updateTable("requests")
    .set({ status: sql.lit("RUNNING" as const), status_note: sql.lit(null) })
    .set(({ eb }) => ({ runs: eb("runs", "+", more) }))
    .where("id", "=", id)
    .where("status", "in", among(unended))
    .returning("id"),
);

/** Forgets how often work has begun on requests that have not ended. */
export async function forgetRuns(db: Connection): Promise<void> {
  await db.updateTable("requests").set({ runs: 0 }).where("finished_at", "is", null).execute();
}

/** Ends a request and forgets its input; false when its machine does not let it, as when it had ended. */
export async function setEnded(
  db: Connection,
  id: string,
  ending: Ending,
  at: number,
): Promise<boolean> {
  const changed = await updateEnded(db, {
    status: ending.status,
    return_value: ending.status === "SUCCEEDED" ? ending.returnValue : null,
    error: ending.status === "FAILED" ? JSON.stringify(ending.failure) : null,
    ...{ status_note: null, finished_at: at, input: null },
    ...{ id, before: before(ending.status) },
  });
  return changed.length > 0;
}

type Ended = Pick<Selectable<Tables["requests"]>, "id" | "status" | Outcome> & {
  readonly status_note: null;
  readonly finished_at: number;
  readonly input: null;
  readonly before: readonly RequestStatus[];
};

const updateEnded = statement((db: Connection, { id, before, ...changes }: Ended) =>
  db
    .updateTable("requests")
    .set(changes)
    .where("id", "=", id)
    .where("status", "in", among(before))
    .returning("id"),
);

/** Says why a request still waits; null takes it back. */
export async function setStatusNote(db: Connection, id: string, note: string | null) {
  await db.updateTable("requests").set({ status_note: note }).where("id", "=", id).execute();
}

/** Keeps what a request must know when it is worked on again after a restart. */
export async function setProgress(db: Connection, id: string, progress: object): Promise<void> {
  const text = JSON.stringify(progress);
  await db.updateTable("requests").set({ progress: text }).where("id", "=", id).execute();
}

/** Ids of the requests for a cluster that have not ended, of these operations or of any, oldest first. */
export async function listUnendedOf(
  db: Queries,
  clusterName: string,
  { names, limit = pageRows }: { names?: readonly string[]; limit?: number } = {},
): Promise<string[]> {
  let query = db
    .selectFrom("requests")
    .select("id")
    .where("cluster_name", "=", clusterName)
    .where("finished_at", "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .limit(limit);
  if (names) query = query.where("name", "in", among(names));
  return (await query.execute()).map(({ id }) => id);
}

/** The request with this id, without its result. */
export async function findRequest(db: Queries, id: string): Promise<StoredRequest | undefined> {
  const [row] = await selectRequest(db, { id });
  return row && requests.toItem(row);
}

const selectRequest = statement((db: Queries, { id }: { readonly id: string }) =>
  db.selectFrom("requests").select(columns).where("id", "=", id),
);

/** How a request ended, with its result; undefined for one that has not. */
export async function findEnded(db: Queries, id: string): Promise<EndedRequest | undefined> {
  const [row] = await selectEnded(db, { id });
  if (row === undefined) return undefined;
  const failure = row.error === null ? null : JSON.parse(row.error);
  return { ...requests.toItem(row), returnValue: row.return_value, failure };
}

const selectEnded = statement((db: Queries, { id }: { readonly id: string }) =>
  db
    .selectFrom("requests")
    .select([...columns, "return_value", "error"])
    .where("id", "=", id)
    .where("finished_at", "is not", null),
);

/** Ids of requests, of a user or of all, that begin with a text, at most `limit`. */
export async function findIds(
  db: Queries,
  prefix: string,
  limit: number,
  userId?: string,
): Promise<string[]> {
  let query = db
    .selectFrom("requests")
    .select("id")
    // By range, so that the index serves and no letter of the prefix is a wildcard.
    .where("id", ">=", prefix)
    .where("id", "<", `${prefix}\u{10ffff}`)
    .orderBy("id")
    .limit(limit);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  return (await query.execute()).map(({ id }) => id);
}

/** Where a page begins: with what is older than this request. */
export type Cursor = Pick<StoredRequest, "createdAt" | "id">;
const newest: Cursor = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };

export interface RequestFilter {
  readonly unendedOnly?: boolean;
  /** Only those of this user. */
  readonly userId?: string | undefined;
  readonly clusterName?: string | undefined;
  readonly before?: Cursor | undefined;
  readonly limit: number;
}

/** A page of requests, newest first. */
export async function listRequests(
  db: Queries,
  { unendedOnly = false, userId, clusterName, before = newest, limit }: RequestFilter,
): Promise<StoredRequest[]> {
  let query = db
    .selectFrom("requests")
    .select(columns)
    .where(sql<boolean>`(created_at, id) < (${before.createdAt}, ${before.id})`)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit);
  if (unendedOnly) query = query.where("finished_at", "is", null);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (clusterName !== undefined) query = query.where("cluster_name", "=", clusterName);
  return (await query.execute()).map(requests.toItem);
}

/** The requests with these ids. */
export async function listByIds(db: Queries, ids: readonly string[]): Promise<StoredRequest[]> {
  const query = db.selectFrom("requests").select(columns).where("id", "in", among(ids));
  return (await query.execute()).map(requests.toItem);
}

/** Ids of the requests of some names that ended after an instant, and not after another one. */
export async function listEndedBetween(
  db: Queries,
  names: readonly string[],
  after: number,
  until: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom("requests")
    .select("id")
    .where("name", "in", among(names))
    .where("finished_at", ">", after)
    .where("finished_at", "<=", until)
    .execute();
  return rows.map(({ id }) => id);
}

/** Ids of requests that ended before an instant, at most `limit`. */
export async function listEndedBefore(
  db: Queries,
  before: number,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom("requests")
    .select("id")
    .where("finished_at", "<", before)
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Forgets requests. */
export async function dropRequests(db: Connection, ids: readonly string[]): Promise<void> {
  await db.deleteFrom("requests").where("id", "in", among(ids)).execute();
}
