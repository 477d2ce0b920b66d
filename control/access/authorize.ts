import { fail } from "../../common/errors.ts";
import type { InputOf, Operation } from "../../common/operation.ts";
import { covers, type Role } from "../../contract/roles.ts";
import type { Context } from "../context.ts";
import type { Identity } from "./identity.ts";
import { isSubjectNoun, subjects } from "./subjects.ts";

/** Throws `PermissionDeniedError` where the role of a caller does not include an operation. */
export function requireRole({ access, name }: Operation, caller: Identity): void {
  if (access !== "open") requireAtLeast(access, name, caller);
}

/** Throws `PermissionDeniedError` where what a caller does needs another role. */
export function requireAtLeast(
  needed: Role,
  what: string,
  { user, role }: Pick<Identity, "user" | "role">,
): void {
  if (covers(role, needed)) return;
  fail(
    "PermissionDeniedError",
    `${what} needs the role ${needed}; ${user.name} has the role ${role}. An administrator can change it`,
  );
}

/**
 * Lets a call through, or throws: `PermissionDeniedError` where the role or the owner of a thing
 * forbids it, and for a thing that the caller may not see what is thrown where there is none.
 */
export async function authorize(
  ctx: Context,
  row: Operation,
  input: InputOf<Operation>,
  identity: Identity,
): Promise<void> {
  requireRole(row, identity);
  for (const [noun, field] of Object.entries(row.about ?? {})) {
    const name = (input as Record<string, unknown>)[field];
    if (typeof name === "string" && isSubjectNoun(noun)) await subjects[noun](ctx, name, identity);
  }
}
