import { fail } from "../../common/errors.ts";
import { isStored, type Operation } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import type { Identity } from "../access/identity.ts";
import type { Context } from "../context.ts";
import { findPreference, visibleWorkspaces } from "../workspaces/find.ts";
import { resolveWorkspace } from "../workspaces/membership.ts";
import { defaultWorkspace } from "../workspaces/schema.ts";

const configs = [product.word, protocol.word].map((word) => `override_${word}_config`);

/**
 * The workspace in which a call makes things: the one that the caller's settings name, else the one that
 * `resolveWorkspace` finds. Throws `PermissionDeniedError` for one that is not there, or not the caller's.
 */
export async function workspaceFor(
  ctx: Context,
  row: Operation,
  input: unknown,
  identity: Identity,
): Promise<string> {
  const requested = namedIn(input) ?? null;
  if (requested === null && makesNothing(row)) return defaultWorkspace;
  const preferred = requested === null ? await findPreference(ctx.db, identity.user.id) : null;
  // Most calls name none, and need no look at the configuration.
  const isPlain = requested === null && preferred === null && identity.workspaces === null;
  if (isPlain) return defaultWorkspace;
  const own = identity.workspaces ?? Object.keys(await visibleWorkspaces(ctx, identity)).sort();
  const { workspace, note } = resolveWorkspace({ own, preferred, requested });
  if (workspace !== null) return workspace;
  if (requested === null && row.access !== "user") return own[0] ?? defaultWorkspace;
  return fail(
    "PermissionDeniedError",
    requested === null ? `${note}` : `active_workspace: ${note}`,
  );
}

/** Most calls: those that viewers may make too, and that are answered at once. */
const makesNothing = (row: Operation): boolean =>
  !isStored(row) && (row.access === "open" || row.access === "viewer");

/** The name that the caller's settings have, whatever it is. */
function namedIn(input: unknown): string | undefined {
  const fields = (input ?? {}) as Record<string, { active_workspace?: unknown } | null | undefined>;
  const named = configs.map((name) => fields[name]?.active_workspace).find((name) => name != null);
  return named === undefined || typeof named === "string" ? named : JSON.stringify(named);
}
