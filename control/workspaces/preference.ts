import type { InputOf } from "../../common/operation.ts";
import type { userOperations as rows } from "../../contract/operations/users.ts";
import type { UserWorkspace } from "../../contract/records/users.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { findPreference, requireWorkspace, visibleWorkspaces } from "./find.ts";
import { resolveWorkspace } from "./membership.ts";
import { setPreference } from "./store.ts";

/** Where a launch of the caller goes that names this workspace; null names none. */
export async function workspaceOf(
  ctx: Context,
  { requested }: InputOf<typeof rows.workspace>,
  call: Call,
): Promise<UserWorkspace> {
  const own = Object.keys(await visibleWorkspaces(ctx, call)).sort();
  const preferred = await findPreference(ctx.db, call.user.id);
  const resolved = resolveWorkspace({ own, preferred, requested });
  const isReader = call.role === "viewer";
  return {
    ...resolved,
    ...(isReader && resolved.workspace !== null && { source: "read-only" as const }),
    preferred,
    accessible: isReader ? [] : own,
    read_only: isReader ? own : [],
  };
}

/** Keeps where launches of the caller go that name no workspace. */
export async function preferWorkspace(
  ctx: Context,
  { preferred }: InputOf<typeof rows.preferWorkspace>,
  call: Call,
) {
  if (preferred !== null) await requireWorkspace(ctx, preferred, call);
  await ctx.batch((tx) => setPreference(tx, call.user.id, preferred));
  return { preferred };
}
