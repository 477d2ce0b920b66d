import type { Identity } from "../../control/access/identity.ts";
import type { Caller } from "../../control/requests/run.ts";

/** An administrator, unless something else is given. */
export const anIdentity = (given: Partial<Identity> = {}): Identity => ({
  user: { id: "u1", name: "ada" },
  role: "admin",
  workspaces: null,
  credential: "test",
  ...given,
});

/** Who calls, on our own command line. */
export const aCaller = (identity: Partial<Identity> = {}): Caller => ({
  identity: anIdentity(identity),
  workspace: "default",
  origin: {
    ...{ address: "127.0.0.1", site: () => "http://127.0.0.1", session: null },
    ...{ login: null, wantsPage: false },
  },
  program: "outrigger",
  clientApi: null,
  command: "",
});
