import { isDeepStrictEqual } from "node:util";
import { fail } from "../../common/errors.ts";
import type { Operation } from "../../common/operation.ts";
import type { Configuration } from "../../contract/records/workspaces.ts";
import { fieldOf } from "../../contract/task/issues.ts";
import { entryBy } from "../audit/entry.ts";
import { addAudit } from "../audit/store.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import { deleteSecretsOf } from "../secrets/store.ts";
import type { StoredConfiguration } from "./configurations.ts";
import { refuseInUse } from "./in-use.ts";
import { isNamedBy } from "./membership.ts";
import { type Workspaces, workspacesIn } from "./schema.ts";
import { addVersion, listNamed } from "./store.ts";

/** What a change makes of the configuration as it is; throws where it must not. */
type Change = (before: StoredConfiguration) => Configuration;

/**
 * Writes the next version of the configuration, if a change makes any difference; answers the one that is
 * then in force. What forbids the change is looked at in the transaction that writes it. Throws
 * `ValueError` for a workspace that is in use, and for users that there are not.
 */
export async function changeConfiguration(
  ctx: Context,
  row: Operation,
  change: Change,
  call: Call,
): Promise<StoredConfiguration> {
  return ctx.batch(async (tx) => {
    const before = await ctx.configurations.hold(tx);
    const document = change(before);
    if (isDeepStrictEqual(document, before.document)) return before;
    const workspaces = workspacesIn(document);
    await refuseInUse(tx, before.workspaces, workspaces);
    await refuseUnknownUsers(tx, before.workspaces, workspaces);
    const gone = Object.keys(before.workspaces).filter((name) => !Object.hasOwn(workspaces, name));
    if (gone.length > 0) await deleteSecretsOf(tx, "workspace", gone);
    const next = { version: before.version + 1, document, workspaces };
    const { user } = call;
    await addVersion(tx, ctx.seal, { ...next, user, createdAt: ctx.now().getTime() });
    // The request itself could not say yet which version it makes.
    await addAudit(tx, entryBy(ctx, call, row, `configuration ${next.version}`));
    return next;
  });
}

/**
 * Throws `ValueError` for what comes anew to `allowed_users` and means no user, or several. What stands
 * there already may have been deleted since.
 */
async function refuseUnknownUsers(
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
