import { secretScopes } from "../../contract/operations/secrets.ts";

export type Scope = (typeof secretScopes)[number];

/** Whose a secret is: a user, or a workspace. */
export interface Owner {
  readonly scope: Scope;
  readonly owner: string;
}

/** Those whose secrets a task may use; the first that has one of a name is the one. */
export const ownersFor = (userId: string, workspace: string): readonly Owner[] =>
  secretScopes.map((scope) => ownerOf(scope, userId, workspace));

/** Whose a secret of a scope is. */
export const ownerOf = (scope: Scope, userId: string, workspace: string): Owner => ({
  scope,
  owner: scope === "user" ? userId : workspace,
});
