import { diskGb } from "./amounts.ts";
import { refuse } from "./place.ts";
import { choice, fields, filledText, flag, listOf, reads } from "./readers.ts";

export const diskTiers = ["low", "medium", "high", "ultra", "best"] as const;
export type DiskTier = (typeof diskTiers)[number];

const settings = fields(
  {
    path: filledText,
    name: filledText,
    disk_size: diskGb,
    disk_tier: choice(...diskTiers),
    auto_delete: flag,
    storage_type: choice("network", "instance"),
    attach_mode: choice("read_only", "read_write"),
  },
  ["path"],
);

/** A disk beside the one of the machine. */
const networkDisk = reads(settings.schema, (place) => {
  const given = settings(place);
  const isNetwork = given?.storage_type !== "instance";
  if (isNetwork && given?.path !== undefined && given.name === undefined)
    refuse(place, "needs `name`, the name of the network disk", "missing");
  return given;
});

/** The list under `resources.volumes`. */
export const networkDisks = listOf(networkDisk);
