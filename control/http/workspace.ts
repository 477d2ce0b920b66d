import { fail } from "../../common/errors.ts";
import type { Operation } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { type Identity, seesWorkspace } from "../access/identity.ts";
import type { Ground } from "../ground.ts";
import { defaultWorkspace } from "../workspaces/membership.ts";

const configs = [product.word, protocol.word].map((word) => `override_${word}_config`);

/**
 * The workspace in which a call makes things: the one that the caller's settings name, else the one
 * that the caller prefers, else the default one. Throws `PermissionDeniedError` for one that is not
 * there, or not the caller's.
 */
export async function workspaceFor(
  ctx: Ground,
  row: Operation,
  input: unknown,
  identity: Identity,
): Promise<string> {
  const named = namedIn(input);
  if (named !== undefined) return requireMember(ctx, named, identity);
  const { preferredWorkspace, workspaces } = identity;
  const usable = [preferredWorkspace ?? defaultWorkspace, defaultWorkspace, ...(workspaces ?? [])];
  const usual = usable.find((name) => seesWorkspace(identity, name));
  if (usual === undefined && row.access === "user")
    fail("PermissionDeniedError", `${identity.user.name} is in no workspace`);
  return usual ?? defaultWorkspace;
}

/** The name as it is, where the workspace exists and is the caller's. */
async function requireMember(ctx: Ground, name: string, identity: Identity): Promise<string> {
  if (name === defaultWorkspace && seesWorkspace(identity, name)) return name;
  const { workspaces } = await ctx.configurations.current();
  if (Object.hasOwn(workspaces, name) && seesWorkspace(identity, name)) return name;
  const own = Object.keys(workspaces).filter((one) => seesWorkspace(identity, one));
  return fail(
    "PermissionDeniedError",
    `active_workspace: there is no workspace ${JSON.stringify(name)}; yours: ${own.join(", ") || "none"}`,
  );
}

/** The name that the caller's settings have, whatever it is. */
function namedIn(input: unknown): string | undefined {
  const fields = (input ?? {}) as Record<string, { active_workspace?: unknown } | null | undefined>;
  const named = configs.map((name) => fields[name]?.active_workspace).find((name) => name != null);
  return named === undefined || typeof named === "string" ? named : JSON.stringify(named);
}
