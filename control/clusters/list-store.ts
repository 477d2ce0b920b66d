import { sql } from "kysely";
import type { Seal } from "../../common/seal.ts";
import { among, gone, inPages, pageRows, pagesOf } from "../db/lists.ts";
import type { Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import type { KeptParcel } from "./files/parcels.ts";
import type { Cluster, ListedCluster, MadeFor } from "./schema.ts";
import { clusters } from "./store.ts";

/** Which live clusters are listed. */
export interface LiveFilter {
  readonly names?: readonly string[] | undefined;
  readonly userId?: string | undefined;
  /** Only those in these workspaces; null is any. */
  readonly workspaces?: readonly string[] | null;
  /** Those alone that users launched. */
  readonly ofUsersOnly?: boolean;
}

const columnsOf = (withTasks: boolean) =>
  clusters.columns.filter(
    (column) => column !== "placement" && (withTasks || column !== "task_yaml"),
  );

/** Live clusters, newest launch first. */
export async function listLive(
  db: Queries,
  { names, userId, workspaces, ofUsersOnly = false }: LiveFilter = {},
  withTasks = true,
): Promise<ListedCluster[]> {
  const chosen = { withTasks, userId, workspaces: workspaces ?? undefined, ofUsersOnly };
  const rows: Key[] = [];
  if (names === undefined)
    for await (const page of pagesOf<Key>((last) => selectLive(db, { ...chosen, ...keyOf(last) })))
      rows.push(...page);
  for await (const some of inPages(names ?? []))
    rows.push(...(await selectNamed(db, { ...chosen, names: some })));
  return newestFirst(rows);
}

type Chosen = {
  readonly withTasks: boolean;
  readonly userId: string | undefined;
  readonly workspaces: readonly string[] | undefined;
  readonly ofUsersOnly: boolean;
};

const selectLive = statement((db: Queries, given: Chosen & Key) =>
  chosenOf(db, given)
    .where(isAfter(given))
    .orderBy("user_id")
    .orderBy("id")
    .limit(sql.lit(pageRows)),
);

const selectNamed = statement(
  (db: Queries, given: Chosen & { readonly names: readonly string[] }) =>
    chosenOf(db, given).where("name", "in", among(given.names)),
);

function chosenOf(db: Queries, { withTasks, userId, workspaces, ofUsersOnly }: Chosen) {
  let live = db.selectFrom("clusters").select(columnsOf(withTasks)).where("status", "<>", gone);
  if (userId !== undefined) live = live.where("user_id", "=", userId);
  if (workspaces !== undefined) live = live.where("workspace", "in", among(workspaces));
  return ofUsersOnly ? live.where("made_for", "is", null) : live;
}

/** The live ones of these clusters. */
export async function listLiveOf(db: Queries, ids: readonly string[]): Promise<ListedCluster[]> {
  const rows = await db
    .selectFrom("clusters")
    .select(columnsOf(false))
    .where("id", "in", among(ids))
    .where("status", "<>", gone)
    .execute();
  return newestFirst(rows);
}

/** Live clusters, and those that left since an instant, newest launch first. */
export async function listSince(
  db: Queries,
  since: number,
  withTasks = true,
): Promise<ListedCluster[]> {
  const left = await db
    .selectFrom("clusters")
    .select(columnsOf(withTasks))
    .where("status", "=", gone)
    .where("status_changed_at", ">=", since)
    .execute();
  const live = await listLive(db, {}, withTasks);
  return [...live, ...newestFirst(left)].sort((a, b) => b.launchedAt - a.launchedAt);
}

/** Names of live clusters that begin with a text; only those in these workspaces, null is any. */
export async function listLiveNames(
  db: Queries,
  prefix: string,
  limit: number,
  workspaces: readonly string[] | null,
): Promise<string[]> {
  let query = db
    .selectFrom("clusters")
    .select("name")
    .where("status", "<>", gone)
    .where("name", ">=", prefix)
    .where("name", "<", `${prefix}\u{10ffff}`)
    .orderBy("name")
    .limit(limit);
  if (workspaces !== null) query = query.where("workspace", "in", among(workspaces));
  return (await query.execute()).map(({ name }) => name);
}

/** Ids of the blobs that nodes of live clusters would need were they made anew. */
export async function listLiveBlobs(db: Queries, seal: Seal): Promise<string[]> {
  const query = db
    .selectFrom("clusters")
    .select(["user_id", "id", "parcels"])
    .where("status", "<>", gone)
    .orderBy("user_id")
    .orderBy("id")
    .limit(pageRows);
  const blobIds: string[] = [];
  for await (const page of pagesOf<Key & { parcels: Uint8Array | null }>((last) =>
    query.where(isAfter(keyOf(last))).execute(),
  ))
    for (const { parcels } of page) {
      const kept: KeptParcel[] = parcels === null ? [] : JSON.parse(seal.open(parcels));
      blobIds.push(...kept.flatMap((parcel) => ("blobId" in parcel ? [parcel.blobId] : [])));
    }
  return blobIds;
}

/** Ids of live clusters that are not what is wanted. */
export async function listUnsettled(db: Queries): Promise<string[]> {
  return (await selectUnsettled(db, {})).map(({ id }) => id);
}

const selectUnsettled = statement((db: Queries) =>
  db
    .selectFrom("clusters")
    .select("id")
    .where("status", "<>", gone)
    .where((where) => where("status", "<>", where.ref("wanted") as never)),
);

/** Ids of the clusters that are up. */
export async function listUp(db: Queries): Promise<string[]> {
  return (await selectUp(db, {})).map(({ id }) => id);
}

const selectUp = statement((db: Queries) =>
  db
    .selectFrom("clusters")
    .select("id")
    .where("status", "=", sql.lit("UP" as const)),
);

type Key = { readonly user_id: string; readonly id: string };

/** What a page is read from: the order of the index over live rows. */
const keyOf = ({ user_id, id }: Key = { user_id: "", id: "" }): Key => ({ user_id, id });

const isAfter = ({ user_id, id }: Key) => sql<boolean>`(user_id, id) > (${user_id}, ${id})`;

const newestFirst = (rows: readonly object[]): ListedCluster[] =>
  rows.map(clusters.toItem).sort((a, b) => b.launchedAt - a.launchedAt);

interface PastCluster extends Pick<Cluster, "id" | "name"> {
  readonly madeFor: MadeFor | null;
}

/** The clusters of a name, and of names that go on behind it with `-`, live and gone, newest first. */
export async function listPastOf(db: Queries, name: string): Promise<PastCluster[]> {
  const rows = await db
    .selectFrom("clusters")
    .select(["id", "name", "made_for"])
    // `.` comes right after `-`.
    .where((row) =>
      row.or([
        row("name", "=", name),
        row.and([row("name", ">", `${name}-`), row("name", "<", `${name}.`)]),
      ]),
    )
    .orderBy("launched_at", "desc")
    .execute();
  return rows.map(({ made_for: madeFor, ...row }) => ({
    ...row,
    madeFor: madeFor && JSON.parse(madeFor),
  }));
}
