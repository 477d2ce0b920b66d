import { protocol } from "../../common/product.ts";
import type { Accelerator } from "./accelerators.ts";
import type { CpuAmount, MemoryAmount } from "./amounts.ts";
import { anyRegion, type Image } from "./image.ts";
import type { Where } from "./infra.ts";
import type { DiskTier } from "./network-disks.ts";
import { child, gives, type Place, refuse } from "./place.ts";
import type { GivenResources } from "./resource-fields.ts";

/** One kind of node that would do; undefined leaves a field open. */
export interface ResourceRequest extends Where {
  readonly instanceType: string | undefined;
  readonly cpus: CpuAmount | undefined;
  readonly memory: MemoryAmount | undefined;
  readonly accelerator: Accelerator | undefined;
  /** Options of TPUs. Nothing acts on them, on disks inside the machine or on network disks. */
  readonly acceleratorArgs: GivenResources["accelerator_args"];
  readonly useSpot: boolean;
  readonly diskGb: number;
  readonly ephemeralStorageGb: number | undefined;
  readonly diskTier: DiskTier;
  readonly networkTier: "standard" | "best";
  readonly localDisk: GivenResources["local_disk"];
  /** Canonical: sorted, merged, `8080` or `8000-8010`. */
  readonly ports: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly image: Image | undefined;
  readonly maxDollarsPerHour: number | undefined;
  readonly priorityClass: string | undefined;
  readonly networkDisks: GivenResources["volumes"];
}

/** What a disk has where a task says nothing of it. */
export const defaultDiskGb = 256;

/** The requests that one mapping of resources stands for: one for each kind of accelerator. */
export function toRequests(place: Place, given: GivenResources): ResourceRequest[] {
  const where = whereOf(place, given);
  if (given.cpus?.count === 0 && where.cloud !== "slurm")
    refuse(child(place, "cpus"), "must be greater than 0");
  refuseLostImage(child(place, "image_id"), given.image_id, where);
  const kinds = given.accelerators?.kinds ?? [undefined];
  return kinds.map((accelerator) => ({ ...machineOf(given), ...where, accelerator }));
}

function machineOf(given: GivenResources): Omit<ResourceRequest, keyof Where | "accelerator"> {
  return {
    instanceType: given.instance_type,
    cpus: given.cpus,
    memory: given.memory,
    acceleratorArgs: given.accelerator_args,
    useSpot: given.use_spot ?? false,
    diskGb: given.disk_size ?? defaultDiskGb,
    ephemeralStorageGb: given.ephemeral_storage,
    diskTier: given.disk_tier === "none" ? "medium" : (given.disk_tier ?? "medium"),
    networkTier: given.network_tier ?? "standard",
    localDisk: given.local_disk,
    ports: given.ports ?? [],
    labels: given.labels ?? {},
    image: given.image_id,
    maxDollarsPerHour: given.max_hourly_cost,
    priorityClass: given.priority_class,
    networkDisks: given.volumes,
  };
}

/** `infra`, or `cloud`, `region` and `zone`; not both ways at once. */
function whereOf(place: Place, given: GivenResources): Where {
  const { infra, cloud, region, zone } = given;
  if (infra === undefined) return { cloud, region, zone };
  const other = Object.entries({ cloud, region, zone }).find(([, value]) => value !== undefined);
  if (other !== undefined) {
    const at = gives(place, other[0]) ? child(place, other[0]) : place;
    refuse(
      at,
      `cannot specify both \`infra\` and \`${other[0]}\`; write \`infra: cloud/region/zone\``,
    );
  }
  return infra;
}

/** Ids of machine images mean something only in one cloud, and some only in one region. */
function refuseLostImage(place: Place, image: Image | undefined, where: Where): void {
  if (image === undefined || image.kind === "container") return;
  if (where.cloud === undefined) {
    refuse(place, "needs a cloud: add `infra`, or name a container with the prefix `docker:`");
    return;
  }
  if (image.kind === "machines") {
    const regions = Object.keys(image.idByRegion);
    const isNamed = regions.some((region) => region === where.region || region === anyRegion);
    if (where.region !== undefined && !isNamed)
      refuse(place, `has no image for the region ${where.region}; it names ${regions.join(", ")}`);
    return;
  }
  const isTag = image.id.startsWith(`${protocol.word}:`);
  if (where.cloud === "aws" && where.region === undefined && !isTag)
    refuse(
      place,
      "needs a region on aws: write `infra: aws/<region>`, or a mapping of region to image",
    );
}
