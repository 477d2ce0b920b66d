import { sql } from "kysely";
import type { Seal } from "../../common/seal.ts";
import type { Configuration } from "../../contract/records/workspaces.ts";
import { localUserId } from "../access/identity.ts";
import { gone } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import type { User } from "../requests/schema.ts";
import { wordsOf } from "../services/schema.ts";
import type { Account } from "../users/schema.ts";

/** Older versions of the configuration are forgotten. */
const versionsKept = 100;

/** The number of the version that is in force; 0 where there is none. */
export async function newestVersion(db: Queries): Promise<number> {
  const [row] = await selectNewest(db, {});
  return row?.version ?? 0;
}

const selectNewest = statement((db: Queries) =>
  db.selectFrom("configurations").select(({ fn }) => fn.max("version").as("version")),
);

/** What a version says; nothing where there is no such version. */
export async function readVersion(
  db: Queries,
  seal: Seal,
  version: number,
): Promise<Configuration> {
  const row = await db
    .selectFrom("configurations")
    .select("document")
    .where("version", "=", version)
    .executeTakeFirst();
  return row === undefined ? {} : JSON.parse(seal.open(row.document));
}

/**
 * Holds the version that is in force until the transaction ends, and answers its number: nobody else launches in a
 * workspace or changes one meanwhile.
 */
export async function holdNewest(db: Connection): Promise<number> {
  for (;;) {
    const [held] = await holdVersion(db, {});
    const version = held?.version ?? 0;
    if ((await newestVersion(db)) === version) return version;
  }
}

const holdVersion = statement((db: Connection) =>
  db
    .updateTable("configurations")
    .set({ user_id: sql.ref("user_id") })
    .where("version", "=", (of) =>
      of.selectFrom("configurations").select(of.fn.max("version").as("newest")),
    )
    .returning("version"),
);

interface NewVersion {
  readonly version: number;
  readonly document: Configuration;
  readonly user: User;
  readonly createdAt: number;
}

/** Writes the next version down; it is in force from now on. */
export async function addVersion(db: Connection, seal: Seal, next: NewVersion): Promise<void> {
  const { version, document, user, createdAt } = next;
  await db
    .insertInto("configurations")
    .values({
      version,
      document: seal.seal(JSON.stringify(document)),
      user_id: user.id,
      user_name: user.name,
      created_at: createdAt,
    })
    .execute();
  await db
    .deleteFrom("configurations")
    .where("version", "<=", version - versionsKept)
    .execute();
}

/** The versions that are kept, the newest first. */
export const listVersions = (db: Queries) =>
  db
    .selectFrom("configurations")
    .select(["version", "user_id", "user_name", "created_at"])
    .orderBy("version", "desc")
    .execute();

/** What is live in a workspace. */
export interface LiveThing {
  readonly noun: "cluster" | "service" | "pool" | "managed job" | "storage" | "volume";
  readonly name: string;
  readonly user: User;
}

/** What is live in a workspace, and what is kept there. */
export async function listLiveThings(db: Queries, workspace: string): Promise<LiveThing[]> {
  const clusters = db
    .selectFrom("clusters")
    .select(["name", "user_id", "user_name"])
    .where("workspace", "=", workspace)
    .where("status", "<>", gone)
    .orderBy("name")
    .execute();
  const services = db
    .selectFrom("services")
    .select(["name", "user_id", "user_name", "pool"])
    .where("workspace", "=", workspace)
    .where("status", "<>", gone)
    .orderBy("name")
    .execute();
  const jobs = db
    .selectFrom("job_tasks")
    .innerJoin("managed_jobs", "managed_jobs.id", "job_tasks.job_id")
    .select(["managed_jobs.name", "managed_jobs.user_id", "managed_jobs.user_name"])
    .where("job_tasks.workspace", "=", workspace)
    .where("settled_at", "is", null)
    .orderBy("job_tasks.job_id")
    .execute();
  const kept = (table: "storages" | "volumes") =>
    db
      .selectFrom(table)
      .select(["name", "user_id", "user_name"])
      .where("workspace", "=", workspace)
      .orderBy("name")
      .execute();
  const toThing =
    (noun: LiveThing["noun"]) =>
    ({ name, user_id: id, user_name }: Awaited<typeof jobs>[number]): LiveThing => ({
      noun,
      name,
      user: { id, name: user_name },
    });
  return [
    ...(await clusters).map(toThing("cluster")),
    ...(await services).map((one) => toThing(wordsOf({ isPool: one.pool === 1 }).noun)(one)),
    ...(await jobs).map(toThing("managed job")),
    ...(await kept("storages")).map(toThing("storage")),
    ...(await kept("volumes")).map(toThing("volume")),
  ];
}

/** Keeps where launches of a user go that name no workspace; null takes the choice back. */
export async function setPreference(
  db: Connection,
  userId: string,
  workspace: string | null,
): Promise<void> {
  if (userId !== localUserId) {
    const change = { preferred_workspace: workspace };
    await db.updateTable("users").set(change).where("id", "=", userId).execute();
    return;
  }
  await db.deleteFrom("local_preference").where("id", "=", 1).execute();
  if (workspace !== null)
    await db.insertInto("local_preference").values({ id: 1, workspace }).execute();
}

/** The users whose id or name a text is. */
export const listNamed = (db: Queries, text: string) =>
  db
    .selectFrom("users")
    .select(["id", "name", "kind"])
    .where((where) => where.or([where("id", "=", text), where("name", "=", text)]))
    .execute() as Promise<Pick<Account, "id" | "name" | "kind">[]>;
