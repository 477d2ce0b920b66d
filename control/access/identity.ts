import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Role } from "../../contract/roles.ts";
import type { User } from "../requests/schema.ts";
import type { Known } from "../users/store.ts";

/** Who calls. It is made once, where a call comes in, and nothing in a body changes it. */
export interface Identity {
  readonly user: User;
  readonly role: Role;
  /** The workspaces whose things it may see and use, sorted; null is all of them. */
  readonly workspaces: readonly string[] | null;
  /** What proved it, for the audit log: `token ci`, `session`, `local`. */
  readonly credential: string;
}

/** The part of a call that carries credentials. */
export interface Head {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
}

/** A user as a credential names it; its role and workspaces are looked up for every call. */
export interface Proof {
  readonly userId: string;
  readonly credential: string;
  /** What is known of the user, where it was looked up together with the credential. */
  readonly known?: Known;
}

/**
 * Reads one kind of credential. Undefined where a call carries none of this kind; throws
 * `AuthenticationError` for one that is wrong, expired or withdrawn.
 */
export type Authenticator = (head: Head) => Promise<Proof | undefined>;

/** The administrator that callers are without logins, and that the token of the home stands for. */
export const localUserId = "local";

/** Whether an identity sees the things of a workspace. */
export const seesWorkspace = ({ workspaces }: Pick<Identity, "workspaces">, name: string) =>
  workspaces === null || workspaces.includes(name);

/** The owner of all that an identity may read where others' things are private; undefined for any. */
export const ownerOf = ({ user, role }: Pick<Identity, "user" | "role">): string | undefined =>
  role === "admin" ? undefined : user.id;

/** Whether a thing is an identity's own, or the identity may treat it so. */
export const isOwnedBy = ({ user, role }: Pick<Identity, "user" | "role">, ownerId: string) =>
  role === "admin" || user.id === ownerId;

/** The owner whose things a list shows; undefined for all. This machine's own user owns everything. */
export const ownerShown = (
  { user }: Pick<Identity, "user">,
  ofEverybody: boolean,
): string | undefined => (ofEverybody || user.id === localUserId ? undefined : user.id);
