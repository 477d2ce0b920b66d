import type { Hook } from "../hooks.ts";
import { hooks } from "./hooks.ts";
import { child, type Place } from "./place.ts";
import {
  data,
  fields,
  filledText,
  isMapping,
  type Listed,
  mappingOf,
  number,
  readFields,
  reads,
  text,
} from "./readers.ts";
import { mapping } from "./schema.ts";

/** Settings of the control plane that a task may change for itself, by group. */
const groups = {
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

/** What a task says of its pods. */
export interface KubernetesConfig {
  /** Laid over the pod that a node is. */
  readonly pod_config?: Readonly<Record<string, unknown>> | undefined;
  readonly custom_metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Seconds for which a pod may wait for a place; -1 is without an end. */
  readonly provision_timeout?: number | undefined;
  readonly kueue?: Readonly<Record<string, string>> | undefined;
  /** Only of workspaces: whether pods have limits, or how many times what they request. */
  readonly set_pod_resource_limits?: boolean | number | undefined;
}

const readersOf = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, data]));
const groupReader = (keys: readonly string[]): Listed<unknown> =>
  unlessNull(fields(readersOf(keys), [], "seen"));

const podReaders = {
  ...readersOf(groups.kubernetes),
  pod_config: unlessNull(mappingOf(data)),
  custom_metadata: unlessNull(mappingOf(data)),
  provision_timeout: unlessNull(number({ min: -1 })),
  kueue: unlessNull(mappingOf(filledText)),
};
const pods: Listed<KubernetesConfig> = unlessNull(fields(podReaders, [], "seen"));

const groupReaders = {
  ...(Object.fromEntries(
    Object.entries(groups).map(([group, keys]) => [group, groupReader(keys)]),
  ) as Record<keyof typeof groups, Listed<unknown>>),
  kubernetes: pods,
};

function unlessNull<T>(reader: Listed<T>): Listed<T> {
  return reads(reader.schema, (place) => (place.value === null ? undefined : reader(place)));
}

const readers = { ...groupReaders, active_workspace: text, hooks };
export const configSchema = mapping(readers);

/** What `config` of a task says; hooks undefined keeps those that a cluster has. */
export interface TaskConfig {
  readonly settings: Readonly<Record<string, unknown>> & {
    readonly kubernetes?: KubernetesConfig | undefined;
  };
  readonly hooks: readonly Hook[] | undefined;
}

/** Reads `config`, over the settings that existing clients send beside the resources. */
export function readConfig(place: Place, overrides: Place): TaskConfig {
  const isMissing = place.value === undefined || place.value === null;
  const given = isMissing ? {} : readFields(place, readers, "seen");
  const below = isMapping(overrides.value) ? overrides.value : {};
  const hooksBelow = below["hooks"] === undefined ? undefined : hooks(child(overrides, "hooks"));
  const { hooks: own, ...settings } = given;
  const podsBelow = below["kubernetes"] === undefined ? {} : pods(child(overrides, "kubernetes"));
  const { hooks: _, kubernetes: __, ...settingsBelow } = below;
  const kubernetes = { ...podsBelow, ...settings.kubernetes };
  const isAny = Object.keys(kubernetes).length > 0;
  return {
    settings: { ...settingsBelow, ...settings, ...(isAny && { kubernetes }) },
    hooks: own ?? hooksBelow,
  };
}
