import { randomBytes } from "node:crypto";
import type { Ground } from "../ground.ts";
import type { NewAccount } from "./store.ts";

/** A user who is to be written down, with an id that says nothing and is never used again. */
export const newUser = (
  { now }: Pick<Ground, "now">,
  given: Pick<NewAccount, "name" | "kind" | "role"> & Partial<NewAccount>,
): NewAccount => ({
  id: randomId(),
  groups: [],
  preferredWorkspace: null,
  createdAt: now().getTime(),
  ...given,
});

/** An id of a user, or of something that users have. */
export const randomId = (): string => randomBytes(8).toString("hex");
