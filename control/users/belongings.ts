import { among, gone } from "../db/lists.ts";
import type { Queries } from "../db/open.ts";
import { wordsOf } from "../services/schema.ts";

/** Nobody reads more names than that. */
const namedAtMost = 10;

/** What users own that is not gone, in words: `cluster dev`, `request 5f0c3a1e (launch)`. */
export async function listBelongings(db: Queries, userIds: readonly string[]): Promise<string[]> {
  const [clusters, services, jobs, requests] = await Promise.all([
    db
      .selectFrom("clusters")
      .select("name")
      .where("user_id", "in", among(userIds))
      .where("status", "<>", gone)
      .limit(namedAtMost)
      .execute(),
    db
      .selectFrom("services")
      .select(["name", "pool"])
      .where("user_id", "in", among(userIds))
      .where("status", "<>", gone)
      .limit(namedAtMost)
      .execute(),
    db
      .selectFrom("job_tasks")
      .select("job_id")
      .where("user_id", "in", among(userIds))
      .where("settled_at", "is", null)
      .limit(namedAtMost)
      .execute(),
    db
      .selectFrom("requests")
      .select(["id", "name"])
      .where("user_id", "in", among(userIds))
      .where("finished_at", "is", null)
      .limit(namedAtMost)
      .execute(),
  ]);
  return [
    ...services.map(({ name, pool }) => `${wordsOf({ isPool: pool === 1 }).noun} ${name}`),
    ...jobs.map(({ job_id }) => `managed job ${job_id}`),
    ...clusters.map(({ name }) => `cluster ${name}`),
    ...requests.map(({ id, name }) => `request ${id.slice(0, 8)} (${name})`),
  ];
}
