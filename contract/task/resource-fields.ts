import { accelerators } from "./accelerators.ts";
import { cpus, diskGb, localDisk, memory } from "./amounts.ts";
import { autostop } from "./autostop.ts";
import { image } from "./image.ts";
import { cloud, infra } from "./infra.ts";
import { jobRecovery } from "./job-recovery.ts";
import { diskTiers, networkDisks } from "./network-disks.ts";
import { gives, type Place, refuse, warn } from "./place.ts";
import { ports } from "./ports.ts";
import {
  choice,
  data,
  elsewhere,
  type FieldsOf,
  fields,
  filledText,
  flag,
  ignored,
  integer,
  mappingOf,
  number,
  text,
  unlisted,
} from "./readers.ts";

/** The fields of `resources` and of each item of `any_of` and `ordered`. */
export const resourceReaders = {
  infra,
  cloud,
  region: filledText,
  zone: filledText,
  instance_type: filledText,
  cpus,
  memory,
  accelerators,
  gpus: accelerators,
  accelerator_args: fields({
    runtime_version: text,
    tpu_name: text,
    tpu_vm: flag,
    gcp_queued_resource: flag,
  }),
  use_spot: flag,
  job_recovery: jobRecovery,
  spot_recovery: jobRecovery,
  disk_size: diskGb,
  ephemeral_storage: diskGb,
  disk_tier: choice(...diskTiers, "none"),
  network_tier: choice("standard", "best"),
  local_disk: localDisk,
  ports,
  labels: mappingOf(text),
  image_id: image,
  max_hourly_cost: number({ above: 0 }),
  priority: integer({ min: -1000, max: 1000 }),
  priority_class: filledText,
  autostop,
  volumes: networkDisks,
  hooks: elsewhere("config.hooks"),
  _cluster_config_overrides: unlisted(data),
  _docker_login_config: ignored,
  _docker_username_for_runpod: ignored,
  _is_image_managed: ignored,
  _requires_fuse: ignored,
  _no_missing_accel_warnings: ignored,
};

/** What one mapping of resources gives; undefined where it says nothing. */
export type GivenResources = FieldsOf<typeof resourceReaders>;

/** Older names of fields, each with its present one. */
const renamed = { gpus: "accelerators", spot_recovery: "job_recovery" } as const;

/** Settles the older names inside one mapping: not both of them, and a remark on the deprecated one. */
export function settleNames(place: Place, given: GivenResources): GivenResources {
  for (const [old, name] of Object.entries(renamed))
    if (gives(place, old) && gives(place, name))
      refuse(place, `\`${old}\` and \`${name}\` mean the same; keep \`${name}\``);
  if (gives(place, "spot_recovery"))
    warn(place, "`spot_recovery` is the older name of `job_recovery`");
  return {
    ...given,
    accelerators: given.accelerators ?? given.gpus,
    job_recovery: given.job_recovery ?? given.spot_recovery,
    gpus: undefined,
    spot_recovery: undefined,
  };
}

/** Fields of the item over those of the base; labels of both, the item's first. */
export function mergeResources(base: GivenResources, item: GivenResources): GivenResources {
  const given = Object.entries(item).filter(([, value]) => value !== undefined);
  return {
    ...base,
    ...Object.fromEntries(given),
    labels: { ...base.labels, ...item.labels },
  };
}
