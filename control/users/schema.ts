import type { UserKind } from "../../contract/records/users.ts";
import type { Role } from "../../contract/roles.ts";

/** A person or a service account. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly kind: UserKind;
  readonly role: Role;
  /** Whether the role is that of a group, and is looked up again at each login. */
  readonly hasGroupRole: boolean;
  readonly hasPassword: boolean;
  /** Groups that the identity provider or the proxy named at the last login. */
  readonly groups: readonly string[];
  readonly preferredWorkspace: string | null;
  readonly createdAt: number;
}
