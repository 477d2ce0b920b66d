import { diskGb } from "./amounts.ts";
import { refuse } from "./place.ts";
import { choice, fields, filledText, flag, listOf, reads } from "./readers.ts";

export const diskTiers = ["low", "medium", "high", "ultra", "best"] as const;
export type DiskTier = (typeof diskTiers)[number];

/** A disk beside the one of the machine: an entry of `resources.volumes`. */
export interface NetworkDisk {
  readonly path: string;
  readonly name: string | undefined;
  readonly diskGb: number | undefined;
  readonly diskTier: DiskTier;
  readonly autoDelete: boolean;
  readonly storageType: "network" | "instance";
  readonly attachMode: "read_only" | "read_write";
}

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

const networkDisk = reads<NetworkDisk>(settings.schema, (place) => {
  const given = settings(place) ?? {};
  const storageType = given.storage_type ?? "network";
  if (storageType === "network" && given.path !== undefined && given.name === undefined)
    refuse(place, "needs `name`, the name of the network disk", "missing");
  if (given.path === undefined) return undefined;
  return {
    path: given.path,
    name: given.name,
    diskGb: given.disk_size,
    diskTier: given.disk_tier ?? "medium",
    autoDelete: given.auto_delete ?? false,
    storageType,
    attachMode: given.attach_mode ?? "read_write",
  };
});

/** The list under `resources.volumes`. */
export const networkDisks = listOf(networkDisk);
