import { type Selectable, sql } from "kysely";
import { pageRows, pagesOf } from "../db/lists.ts";
import type { Queries } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";
import { unended } from "./store.ts";

const workColumns = [
  ...["id", "name", "user_id", "user_name", "client_api", "workspace", "credential"],
  ...["input", "progress"],
] as const satisfies (keyof Tables["requests"])[];

/** The sealed input and the progress of a request that has not ended. */
export async function findWork(db: Queries, id: string) {
  return db
    .selectFrom("requests")
    .select(workColumns)
    .where("id", "=", id)
    .where("status", "in", unended)
    .executeTakeFirst();
}

/** Requests that have not ended, of a user or of all, page by page, oldest first. */
export function listUnended(db: Queries, userId?: string) {
  let query = db
    .selectFrom("requests")
    .select(["id", "name", "queue", "runs", "created_at"])
    .where("finished_at", "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .limit(pageRows);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  return pagesOf<UnendedRow>((last) =>
    query
      .where(sql<boolean>`(created_at, id) > (${last?.created_at ?? -1}, ${last?.id ?? ""})`)
      .execute(),
  );
}

type UnendedRow = Pick<
  Selectable<Tables["requests"]>,
  "id" | "name" | "queue" | "runs" | "created_at"
>;
