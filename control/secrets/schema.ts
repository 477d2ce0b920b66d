import { secretScopes } from "../../contract/operations/secrets.ts";

export type Scope = (typeof secretScopes)[number];

/** Whose a secret is: a user, a workspace, or a storage, whose bucket it opens. */
export interface Owner<Scopes = Scope | "storage"> {
  readonly scope: Scopes;
  readonly owner: string;
}

/** A stored secret without its value. */
export interface StoredSecret<Scopes = Scope | "storage"> extends Owner<Scopes> {
  readonly name: string;
  readonly userName: string;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** Those whose secrets a task may use; the first that has one of a name is the one. */
export const ownersFor = (userId: string, workspace: string): readonly Owner<Scope>[] =>
  secretScopes.map((scope) => ownerOf(scope, userId, workspace));

/** Whose a secret of a scope is. */
export const ownerOf = (scope: Scope, userId: string, workspace: string): Owner<Scope> => ({
  scope,
  owner: scope === "user" ? userId : workspace,
});
