import type { WorkspaceConfig } from "../../contract/records/workspaces.ts";
import type { Account } from "../users/schema.ts";

/** The workspace that is always there, and where launches go that name none. */
export const defaultWorkspace = "default";

/** Every workspace, by name. */
export type Workspaces = Readonly<Record<string, WorkspaceConfig>>;

/** The workspaces that a user may see and use, sorted: public ones, and private ones that name the user. */
export const workspacesOf = (
  user: Pick<Account, "id" | "name" | "groups">,
  workspaces: Workspaces,
): string[] =>
  Object.entries(workspaces)
    .filter(([, config]) => isOpenTo(user, config))
    .map(([name]) => name)
    .sort();

function isOpenTo(
  { id, name, groups }: Pick<Account, "id" | "name" | "groups">,
  { private: isPrivate = false, allowed_users: users = [], allowed_groups = [] }: WorkspaceConfig,
): boolean {
  if (!isPrivate || users.includes(id) || users.includes(name)) return true;
  return groups.some((group) => allowed_groups.includes(group));
}
