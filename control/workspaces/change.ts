import { isDeepStrictEqual } from "node:util";
import type { Operation } from "../../common/operation.ts";
import type { Configuration } from "../../contract/records/workspaces.ts";
import { entryBy } from "../audit/entry.ts";
import { addAudit } from "../audit/store.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { deleteSecretsOf } from "../secrets/store.ts";
import type { StoredConfiguration } from "./configurations.ts";
import { refuseInUse } from "./in-use.ts";
import { workspacesIn } from "./schema.ts";
import { addVersion } from "./store.ts";
import { refuseUnknownUsers } from "./users.ts";

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
