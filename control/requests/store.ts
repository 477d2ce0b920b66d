import type { ExpressionBuilder, Selectable } from "kysely";
import { type RequestStatus, requestMachine } from "../../contract/statuses.ts";
import type { Connection } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";
import type { Ending, StoredRequest } from "./schema.ts";

type Row = Omit<Selectable<Tables["requests"]>, "input" | "progress" | "runs">;
export type Columns = keyof Row;

const unended = requestMachine.names.filter((status) => !requestMachine.isFinal(status));
/** The statuses from which a request may go to another. */
const before = (to: RequestStatus): RequestStatus[] =>
  requestMachine.names.filter((from) => requestMachine.allows(from, to));
const allColumns = [
  "id",
  "name",
  "status",
  "queue",
  "user_id",
  "user_name",
  "cluster_name",
  "client_api",
  "status_note",
  "return_value",
  "error",
  "created_at",
  "finished_at",
] as const satisfies Columns[];
const listColumns = allColumns.filter((name) => name !== "return_value" && name !== "error");

/** A new request. `input` is sealed. */
export interface NewRequest {
  id: string;
  name: string;
  queue: "long" | "short";
  userId: string;
  userName: string;
  clusterName: string | null;
  clientApi: number | null;
  input: Uint8Array;
  createdAt: number;
}

/** Writes a request down. */
export async function addRequest(db: Connection, request: NewRequest): Promise<void> {
  await db
    .insertInto("requests")
    .values({
      id: request.id,
      name: request.name,
      status: requestMachine.initial,
      queue: request.queue,
      user_id: request.userId,
      user_name: request.userName,
      cluster_name: request.clusterName,
      client_api: request.clientApi,
      input: request.input,
      created_at: request.createdAt,
    })
    .execute();
}

/** Marks a request as worked on; false when it has ended meanwhile. */
export async function setRunning(db: Connection, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("requests")
    .set({ status: "RUNNING", status_note: null })
    .where("id", "=", id)
    .where("status", "in", unended)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Marks a request as worked on, once more. */
export async function setBegun(db: Connection, id: string): Promise<void> {
  await setRunning(db, id);
  await db
    .updateTable("requests")
    .set(({ eb }) => ({ runs: eb("runs", "+", 1) }))
    .where("id", "=", id)
    .execute();
}

/** Forgets how often work has begun on requests that have not ended. */
export async function forgetRuns(db: Connection): Promise<void> {
  await db.updateTable("requests").set({ runs: 0 }).where("status", "in", unended).execute();
}

/** Ends a request and forgets its input; false when its machine does not let it, as when it had ended. */
export async function setEnded(
  db: Connection,
  id: string,
  ending: Ending,
  at: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("requests")
    .set({
      status: ending.status,
      return_value: ending.status === "SUCCEEDED" ? ending.returnValue : null,
      error: ending.status === "FAILED" ? JSON.stringify(ending.failure) : null,
      status_note: null,
      finished_at: at,
      input: null,
    })
    .where("id", "=", id)
    .where("status", "in", before(ending.status))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Says why a request still waits; null takes it back. */
export async function setStatusNote(db: Connection, id: string, note: string | null) {
  await db.updateTable("requests").set({ status_note: note }).where("id", "=", id).execute();
}

/** Keeps what a request must know when it is worked on again after a restart. */
export async function setProgress(db: Connection, id: string, progress: object): Promise<void> {
  const text = JSON.stringify(progress);
  await db.updateTable("requests").set({ progress: text }).where("id", "=", id).execute();
}

/** The sealed input and the progress of a request that has not ended. */
export async function findWork(db: Connection, id: string) {
  return db
    .selectFrom("requests")
    .select(["id", "name", "user_id", "user_name", "client_api", "input", "progress"])
    .where("id", "=", id)
    .where("status", "in", unended)
    .executeTakeFirst();
}

/** Requests that have not ended, oldest first. */
export async function listUnended(db: Connection) {
  return db
    .selectFrom("requests")
    .select(["id", "name", "queue", "runs"])
    .where("status", "in", unended)
    .orderBy("created_at")
    .execute();
}

/** The request with this id, whole. */
export async function findRequest(db: Connection, id: string): Promise<StoredRequest | undefined> {
  const row = await db
    .selectFrom("requests")
    .select(allColumns)
    .where("id", "=", id)
    .executeTakeFirst();
  return row && toRequest(row);
}

/** Ids that begin with a text, at most `limit`, newest first. */
export async function findIds(db: Connection, prefix: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom("requests")
    .select("id")
    .where(hasPrefix("id", prefix))
    .orderBy("created_at", "desc")
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

export interface RequestFilter {
  ids?: readonly string[];
  unendedOnly?: boolean;
  clusterName?: string;
  userId?: string;
  limit?: number;
}

/** Requests without their results, newest first. */
export async function listRequests(
  db: Connection,
  filter: RequestFilter,
): Promise<StoredRequest[]> {
  let query = db.selectFrom("requests").select(listColumns).orderBy("created_at", "desc");
  if (filter.ids) query = query.where("id", "in", filter.ids);
  if (filter.unendedOnly) query = query.where("status", "in", unended);
  if (filter.clusterName !== undefined)
    query = query.where("cluster_name", "=", filter.clusterName);
  if (filter.userId !== undefined) query = query.where("user_id", "=", filter.userId);
  if (filter.limit !== undefined) query = query.limit(filter.limit);
  const rows = await query.execute();
  return rows.map((row) => toRequest({ return_value: null, error: null, ...row }));
}

/** Ids of the requests of some names that ended after an instant, and not after another one. */
export async function listEndedBetween(
  db: Connection,
  names: readonly string[],
  after: number,
  until: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom("requests")
    .select("id")
    .where("name", "in", names)
    .where("finished_at", ">", after)
    .where("finished_at", "<=", until)
    .execute();
  return rows.map(({ id }) => id);
}

/** Ids of requests that ended before an instant, at most `limit`. */
export async function listEndedBefore(
  db: Connection,
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
  await db.deleteFrom("requests").where("id", "in", ids).execute();
}

/** Compares by range, so that the index serves and no letter of the prefix is a wildcard. */
const hasPrefix =
  (column: "id", prefix: string) => (where: ExpressionBuilder<Tables, "requests">) =>
    where.and([where(column, ">=", prefix), where(column, "<", `${prefix}\u{10ffff}`)]);

function toRequest(row: Row): StoredRequest {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    queue: row.queue,
    user: { id: row.user_id, name: row.user_name },
    clusterName: row.cluster_name,
    clientApi: row.client_api,
    statusNote: row.status_note,
    returnValue: row.return_value,
    failure: row.error === null ? null : JSON.parse(row.error),
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  };
}
