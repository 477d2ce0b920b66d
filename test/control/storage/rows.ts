import type { Storage } from "../../../control/storage/schema.ts";

/** A storage with defaults for all that a test does not care about. */
export const aStorage = (given: Partial<Storage> = {}): Storage => ({
  name: "set",
  id: "set-1",
  workspace: "default",
  user: { id: "u1", name: "ana" },
  status: "READY",
  createdAt: 0,
  lastUse: "",
  ...given,
});
