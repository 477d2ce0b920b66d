import { sql } from "kysely";
import { fail } from "../../common/errors.ts";
import { type Identity, localUserId, seesWorkspace } from "../access/identity.ts";
import type { Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import type { Ground } from "../ground.ts";
import { noSuchWorkspace } from "./membership.ts";
import type { Workspaces } from "./schema.ts";

type Reader = Pick<Identity, "workspaces">;

/** The workspaces that a caller may use, by name. */
export async function visibleWorkspaces(ctx: Ground, reader: Reader): Promise<Workspaces> {
  const { workspaces } = await ctx.configurations.current();
  return Object.fromEntries(
    Object.entries(workspaces).filter(([name]) => seesWorkspace(reader, name)),
  );
}

/** The name of a workspace that a caller may use, as it is; throws `PermissionDeniedError` for another. */
export async function requireWorkspace(ctx: Ground, name: string, reader: Reader): Promise<string> {
  const own = Object.keys(await visibleWorkspaces(ctx, reader));
  if (own.includes(name)) return name;
  return fail("PermissionDeniedError", noSuchWorkspace(name, own));
}

/** The workspace that a user chose for launches that name none; null where there is no choice. */
export async function findPreference(db: Queries, userId: string): Promise<string | null> {
  const [row] = await (userId === localUserId ? selectLocal(db, {}) : selectOf(db, { userId }));
  return row?.workspace ?? null;
}

const selectLocal = statement((db: Queries) =>
  db.selectFrom("local_preference").select("workspace").where("id", "=", sql.lit(1)),
);

const selectOf = statement((db: Queries, { userId }: { readonly userId: string }) =>
  db.selectFrom("users").select("preferred_workspace as workspace").where("id", "=", userId),
);
