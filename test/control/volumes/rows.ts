import { readVolume } from "../../../contract/volume.ts";
import type { Volume } from "../../../control/volumes/schema.ts";

/** A volume with defaults for all that a test does not care about. */
export const aVolume = ({ name = "data", ...given }: Partial<Volume> = {}): Volume => ({
  ...{ name, id: `id-of-${name}` },
  workspace: "default",
  user: { id: "u1", name: "ana" },
  document: readVolume({ name, type: "folder", infra: "local" }),
  ...{ yaml: null, path: "/srv/data", problem: null },
  ...{ createdAt: 0, lastAttachedAt: null, lastUse: null },
  ...given,
});
