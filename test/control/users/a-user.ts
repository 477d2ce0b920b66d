import type { NewAccount } from "../../../control/users/store.ts";

/** A user with the id `id-NAME`. */
export const aUser = (name: string, given: Partial<NewAccount> = {}): NewAccount => ({
  id: `id-${name}`,
  name,
  kind: "basic",
  role: "user",
  groups: [],
  preferredWorkspace: null,
  createdAt: 1_000,
  ...given,
});
