import { fail } from "../../common/errors.ts";
import { among, gone } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { deleteSecretsOf } from "../secrets/store.ts";
import { wordsOf } from "../services/schema.ts";
import { listAccountsOf } from "../tokens/store.ts";
import type { Account } from "./schema.ts";

/**
 * Deletes a user with all that lets the user in: sessions, and the service accounts and tokens that the
 * user made; and with the user's secrets. Throws `ValueError` naming what one of them still owns.
 */
export async function removeUser(
  tx: Connection,
  { id }: Pick<Account, "id">,
  name: string,
): Promise<void> {
  const ids = [id, ...(await listAccountsOf(tx, id))];
  const belongings = await listBelongings(tx, ids);
  if (belongings.length > 0)
    fail(
      "ValueError",
      `${name} still owns ${belongings.join(", ")}; end these first, then delete ${name}`,
    );
  await tx.deleteFrom("tokens").where("user_id", "in", among(ids)).execute();
  await tx.deleteFrom("sessions").where("user_id", "in", among(ids)).execute();
  await deleteSecretsOf(tx, "user", ids);
  await tx.deleteFrom("approvals").where("user_id", "in", among(ids)).execute();
  await tx.deleteFrom("users").where("id", "in", among(ids)).execute();
}

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
