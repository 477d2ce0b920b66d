import { fail } from "../../common/errors.ts";
import { fieldOf } from "../../contract/task/issues.ts";
import type { Connection } from "../db/open.ts";
import { isNamedBy } from "./membership.ts";
import type { Workspaces } from "./schema.ts";
import { listNamed } from "./store.ts";

/**
 * Throws `ValueError` for what comes anew to `allowed_users` and means no user, or several. What stands
 * there already may have been deleted since.
 */
export async function refuseUnknownUsers(
  tx: Connection,
  before: Workspaces,
  after: Workspaces,
): Promise<void> {
  for (const [workspace, { allowed_users: users = [] }] of Object.entries(after)) {
    const known = before[workspace]?.allowed_users ?? [];
    for (const [at, entry] of users.entries()) {
      if (known.includes(entry)) continue;
      const meant = (await listNamed(tx, entry)).filter((user) => isNamedBy(user, entry));
      const field = fieldOf(["workspaces", workspace, "allowed_users", at]);
      if (meant.length > 1)
        fail("ValueError", `${field}: several users are named ${entry}; use an id`);
      if (meant.length === 0)
        fail("ValueError", `${field}: there is no user ${entry.slice(0, 80)}; ${wayOut}`);
    }
  }
}

const wayOut =
  "users are known once they have been created or have logged in, service accounts by their ids; use allowed_groups for others";
