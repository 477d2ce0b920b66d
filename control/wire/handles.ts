import { call, global, instance, pickleText, tuple, type Value } from "./pickle.ts";

/** The keys of a task's `resources`, as existing clients parse them. */
export type ResourcesRecord = { readonly [key: string]: Value };

/** A machine of an infra that existing clients may not know. */
export interface UnknownMachine {
  /** The name of the infra, shown as `SSH (name)`, or `Kubernetes (context)`. */
  readonly infra: string;
  readonly cpus: number;
  readonly memoryGb: number;
  readonly accelerators: { readonly name: string; readonly count: number } | null;
}

/**
 * Such a machine told as one of Kubernetes, or else of a pool reached by SSH, so that clients list and price it
 * without a catalog. Source: they parse `4CPU--16GB--H100:1` as an instance type of these.
 */
export function poolResources(machine: UnknownMachine): ResourcesRecord {
  const { infra, cpus, memoryGb, accelerators } = machine;
  const gpus = accelerators === null ? "" : `--${accelerators.name}:${accelerators.count}`;
  const place = infra.startsWith("kubernetes/") ? infra : `ssh/${infra}`;
  return { infra: place, instance_type: `${cpus}CPU--${memoryGb}GB${gpus}` };
}

/** A handle as JSON: how results are stored, and how clients from API 49 on read it. */
export interface HandleRecord {
  readonly cluster_name: string;
  readonly cluster_name_on_cloud: string;
  readonly cluster_yaml: null;
  readonly launched_nodes: number;
  /**
   * Only with an `infra` that existing clients know (`k8s/…`, `ssh/…`, `slurm/…`, a public cloud):
   * any other makes the whole command fail. Without it they print "-".
   */
  readonly launched_resources: ResourcesRecord | null;
  /** Of each node, the head first; null while they are not known. */
  readonly stable_internal_external_ips: readonly (readonly string[])[] | null;
  readonly stable_ssh_ports: readonly number[] | null;
  readonly docker_user: null;
  readonly is_grpc_enabled: boolean;
  readonly ssh_user: string | null;
}

/** The handle for clients below API 49. Source: they unpickle this class, version 12 of its state. */
export function pickleHandle(handle: HandleRecord): string {
  const { cluster_yaml, ssh_user, launched_resources, stable_internal_external_ips, ...same } =
    handle;
  return pickleText(
    instance(global("sky.backends.cloud_vm_ray_backend", "CloudVmRayResourceHandle"), {
      ...same,
      _version: 12,
      _cluster_yaml: cluster_yaml,
      _ssh_user: ssh_user,
      cached_cluster_info: null,
      launched_resources: launched_resources && resourcesCall(launched_resources),
      stable_internal_external_ips:
        stable_internal_external_ips?.map((addresses) => tuple(addresses)) ?? null,
    }),
  );
}

/** Resources for clients below API 49. */
export const pickleResources = (resources: ResourcesRecord): string =>
  pickleText(resourcesCall(resources));

const resourcesCall = (resources: ResourcesRecord) =>
  call(global("sky.resources", "Resources._from_yaml_config_single"), [resources]);
