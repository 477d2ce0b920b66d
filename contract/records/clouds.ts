import * as z from "zod";
import { ClusterStatusName } from "./clusters.ts";
import { record } from "./record.ts";

/** What a cloud may be used for. */
export const CloudCapability = z.enum(["compute", "storage"]);

/** Accelerators of one kind: name, counts that a node can give, how many there are, how many free. */
export const GpuAvailabilityRow = z
  .tuple([z.string(), z.array(z.int()), z.int(), z.int()])
  .meta({ id: "GpuAvailabilityRow" });

/**
 * A machine type in a catalog: cloud, type, accelerator and its count, CPUs, memory of the
 * accelerator and of the host in GiB, dollars an hour on demand and as spot, region.
 */
export const InstanceTypeRow = z
  .tuple([
    z.string(),
    z.string().nullable(),
    z.string(),
    z.number(),
    z.number().nullable(),
    z.number().nullable(),
    z.number().nullable(),
    z.number().nullable(),
    z.number().nullable(),
    z.string(),
  ])
  .meta({ id: "InstanceTypeRow" });

/** A node of a Kubernetes cluster. */
export const KubernetesNodeInfo = record("KubernetesNodeInfo", {
  name: z.string(),
  accelerator_type: z.string().nullable(),
  total: z.object({ accelerator_count: z.int() }),
  free: z.object({ accelerators_available: z.int().describe("-1 when nobody knows.") }),
  ip_address: z.string().nullable(),
  cpu_count: z.number().nullable(),
  memory_gb: z.number().nullable(),
  cpu_free: z.number().nullable(),
  memory_free_gb: z.number().nullable(),
  is_ready: z.boolean(),
  is_cordoned: z.boolean(),
  taints: z
    .array(z.object({ key: z.string(), value: z.string().nullable(), effect: z.string() }))
    .nullable(),
});

/** The nodes of a Kubernetes cluster by name, and a remark that may be empty. */
export const KubernetesNodesInfo = z
  .object({ node_info_dict: z.record(z.string(), KubernetesNodeInfo), hint: z.string() })
  .meta({ id: "KubernetesNodesInfo" });

/** A cluster as its pods show it. */
export const KubernetesClusterRecord = record("KubernetesClusterRecord", {
  cluster_name_on_cloud: z.string(),
  cluster_name: z.string(),
  user: z.string(),
  status: ClusterStatusName,
  resources_str: z.string(),
  launched_at: z.number().describe("Unix seconds."),
});

/** A node of a Slurm cluster. */
export const SlurmNodeInfo = record("SlurmNodeInfo", {
  node_name: z.string(),
  slurm_cluster_name: z.string(),
  partition: z.string().describe("Joined by commas."),
  node_state: z.string().describe("As the scheduler names it."),
  gpu_type: z.string().nullable(),
  total_gpus: z.int(),
  free_gpus: z.int(),
  vcpu_count: z.int(),
  memory_gb: z.number(),
});
