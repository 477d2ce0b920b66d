import type { Hook } from "../hooks.ts";
import { hooks } from "./hooks.ts";
import { child, type Place } from "./place.ts";
import { data, isMapping, type Reader, readFields, text } from "./readers.ts";

/** Settings of the control plane that a task may change for itself, by group. */
export const groups = {
  docker: ["run_options"],
  nvidia_gpus: ["disable_ecc"],
  kubernetes: [
    "custom_metadata",
    "pod_config",
    "provision_timeout",
    "dws",
    "kueue",
    "remote_identity",
    "enable_docker",
  ],
  ssh: ["custom_metadata", "pod_config", "provision_timeout"],
  azure: ["remote_identity", "vpc_name"],
  gcp: [
    "vpc_name",
    "subnet_name",
    "subnet_names",
    "managed_instance_group",
    "enable_gvnic",
    "enable_gpu_direct",
    "placement_policy",
  ],
  slurm: ["sbatch_options", "cpu_partition"],
  vast: ["datacenter_only", "create_instance_kwargs"],
} as const;

const groupReaders = Object.fromEntries(
  Object.entries(groups).map(([group, keys]) => [group, groupReader(keys)]),
) as Record<keyof typeof groups, Reader<unknown>>;

function groupReader(keys: readonly string[]): Reader<unknown> {
  const readers = Object.fromEntries(keys.map((key) => [key, data]));
  return (place) => (place.value === null ? undefined : readFields(place, readers, "seen"));
}

const readers = { ...groupReaders, active_workspace: text, hooks };

/** What `config` of a task says; hooks undefined keeps those that a cluster has. */
export interface TaskConfig {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly hooks: readonly Hook[] | undefined;
}

/** Reads `config`, over the settings that existing clients send beside the resources. */
export function readConfig(place: Place, overrides: Place): TaskConfig {
  const isMissing = place.value === undefined || place.value === null;
  const given = isMissing ? {} : readFields(place, readers, "seen");
  const below = isMapping(overrides.value) ? overrides.value : {};
  const hooksBelow = below["hooks"] === undefined ? undefined : hooks(child(overrides, "hooks"));
  const { hooks: own, ...settings } = given;
  const { hooks: _, ...settingsBelow } = below;
  return { settings: { ...settingsBelow, ...settings }, hooks: own ?? hooksBelow };
}
