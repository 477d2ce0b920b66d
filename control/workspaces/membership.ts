import type { UserWorkspace } from "../../contract/records/users.ts";
import type { WorkspaceConfig } from "../../contract/records/workspaces.ts";
import { hintOf } from "../../contract/spelling.ts";
import type { Account } from "../users/schema.ts";
import { defaultWorkspace, type Workspaces } from "./schema.ts";

type Member = Pick<Account, "id" | "name" | "kind" | "groups">;

/** The workspaces that a user may see and use, sorted: public ones, and private ones that name the user. */
export const workspacesOf = (user: Member, workspaces: Workspaces): string[] =>
  Object.entries(workspaces)
    .filter(([, config]) => isOpenTo(user, config))
    .map(([name]) => name)
    .sort();

/** Whether a user other than an administrator may use a workspace. */
export function isOpenTo(
  user: Member,
  { private: isPrivate = false, allowed_users = [], allowed_groups = [] }: WorkspaceConfig,
): boolean {
  if (!isPrivate || allowed_users.some((entry) => isNamedBy(user, entry))) return true;
  return user.groups.some((group) => allowed_groups.includes(group));
}

const idPattern = /^(sa-)?[0-9a-f]{16}$/;

/**
 * Whether an entry of `allowed_users` means a user. Users choose the names of service accounts
 * themselves, so that these count by their ids alone, as no name counts that looks like an id.
 */
export const isNamedBy = ({ id, name, kind }: Omit<Member, "groups">, entry: string): boolean =>
  entry === id || (entry === name && kind !== "sa" && !idPattern.test(entry));

/** What decides in which workspace a caller's launches go. */
interface Choice {
  /** The workspaces that the caller may use. */
  readonly own: readonly string[];
  /** The one that the caller chose for launches that name none. */
  readonly preferred: string | null;
  /** The one that this launch names. */
  readonly requested?: string | null;
}

interface Resolved {
  /** Null where there is none. */
  readonly workspace: string | null;
  readonly source: NonNullable<UserWorkspace["source"]>;
  /** Why there is none, or why it is not the preferred one. */
  readonly note: string | null;
}

/** Where a launch goes, and why there. */
export function resolveWorkspace({ own, preferred, requested = null }: Choice): Resolved {
  if (requested !== null) {
    if (own.includes(requested)) return { workspace: requested, source: "explicit", note: null };
    return { workspace: null, source: "permission-denied", note: noSuchWorkspace(requested, own) };
  }
  if (preferred !== null && own.includes(preferred))
    return { workspace: preferred, source: "preferred", note: null };
  const note = preferred && `your preferred workspace ${preferred} is no longer open to you`;
  const [only] = own;
  if (only === undefined) return { workspace: null, source: "no-access", note: nowhere };
  if (own.length === 1) return { workspace: only, source: "single-membership", note };
  if (own.includes(defaultWorkspace))
    return { workspace: defaultWorkspace, source: "default-fallback", note };
  const choose = `you are in several workspaces (${own.join(", ")}); choose one: outrigger workspaces use NAME`;
  return { workspace: null, source: "ambiguous", note: choose };
}

const nowhere =
  "you are in no workspace; an administrator can add you with outrigger workspaces update NAME --add-user YOU";

/** Says that there is no such workspace, or none for a caller who may use these. */
export const noSuchWorkspace = (name: string, own: readonly string[]): string =>
  `there is no workspace ${JSON.stringify(name.slice(0, 80))}; ${hintOf(name, own, `yours: ${own.join(", ") || "none"}`)}`;
