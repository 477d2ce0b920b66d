import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { userOperations } from "../../contract/operations/users.ts";
import { workspaceOperations as rows } from "../../contract/operations/workspaces.ts";
import type { UserWorkspace } from "../../contract/records/users.ts";
import { type Bound, bind } from "../bind.ts";

const only = "default";
const thereIs = `there is only one: ${only}`;

/** Workspaces; there is one, which everyone may use. */
export const workspaceOperations: Bound[] = [
  bind(rows.get, async () => ({ [only]: {} })),
  bind(userOperations.workspace, async (_ctx, { requested }) => workspaceFor(requested)),
  bind(userOperations.preferWorkspace, preferWorkspace),
];

/** Where a launch goes that names this workspace; null names none. */
function workspaceFor(requested: string | null): UserWorkspace {
  const common = { preferred: null, accessible: [only], read_only: [] };
  if (requested === null)
    return { ...common, workspace: only, source: "single-membership", note: null };
  if (requested === only) return { ...common, workspace: only, source: "explicit", note: null };
  const note = `there is no workspace ${requested}; ${thereIs}`;
  return { ...common, workspace: null, source: null, note };
}

/** Launches go to the only workspace, whether it is preferred or not. */
async function preferWorkspace(
  _ctx: unknown,
  { preferred }: InputOf<typeof userOperations.preferWorkspace>,
) {
  if (preferred === null || preferred === only) return { preferred };
  return fail("PermissionDeniedError", `workspace ${preferred} cannot be chosen; ${thereIs}`);
}
