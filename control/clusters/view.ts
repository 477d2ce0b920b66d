import { product } from "../../common/product.ts";
import type { Idle, Job } from "../../contract/agent-shapes.ts";
import type {
  ClusterJobRecord,
  ClusterStatusRecord,
  CostReportRecord,
  HookRecord,
} from "../../contract/records/clusters.ts";
import { sshPorts } from "../../contract/ssh-door.ts";
import { preciseSeconds, seconds, withoutNulls } from "../wire/fields.ts";
import { type HandleRecord, poolResources } from "../wire/handles.ts";
import { idleRecord, lifecycleRecord } from "../wire/lifecycle-record.ts";
import { encodedNull } from "../wire/pickle.ts";
import type { StoredLifecycle } from "./lifecycles/schema.ts";
import { type ListedCluster, resourcesText } from "./schema.ts";

/** What clients keep of a cluster. */
export const toHandle = ({ id, name, nodes, addresses, offer }: ListedCluster): HandleRecord => ({
  cluster_name: name,
  cluster_name_on_cloud: `${name}-${id}`,
  cluster_yaml: null,
  launched_nodes: nodes,
  launched_resources: poolResources(offer),
  stable_internal_external_ips:
    addresses.length === 0 ? null : addresses.map((address) => [address, address]),
  stable_ssh_ports: addresses.map((_, rank) => sshPorts.first + rank),
  docker_user: null,
  is_grpc_enabled: false,
  ssh_user: product.word,
});

/** What is known of a cluster besides its row, and how much of it is wanted. */
export interface Showing {
  readonly summary: boolean;
  readonly handle: boolean;
  readonly lastEvent?: string | undefined;
  /** Why it waits for a machine. */
  readonly pending?: string | undefined;
  readonly idle?: Idle | undefined;
  /** The lifecycles that are under way, before those whose hook goes on although they are over. */
  readonly lifecycles: readonly StoredLifecycle[];
  readonly hooks: readonly HookRecord[];
  readonly credentials?: ClusterStatusRecord["credentials"];
}

/** A live cluster as `/status` shows it; a summary leaves out what is long. */
export function toStatusRecord(
  cluster: ListedCluster,
  { summary, handle, lastEvent, pending, idle, lifecycles, hooks, credentials }: Showing,
): ClusterStatusRecord {
  const { status } = cluster;
  if (status === "GONE") throw new Error("a cluster that is gone has no record");
  // What was asked of the cluster is led by its head.
  const lifecycle = lifecycles.find(({ rank }) => rank === 0) ?? lifecycles[0];
  return {
    ...shared(cluster),
    status,
    launched_at: seconds(cluster.launchedAt),
    user_hash: cluster.user.id,
    handle: handle ? toHandle(cluster) : encodedNull,
    last_use: cluster.command,
    autostop: cluster.autostop?.idleMinutes ?? -1,
    to_down: cluster.autostop?.down ?? false,
    cluster_ever_up: cluster.everUp,
    ...initOf(cluster, pending),
    status_updated_at: seconds(cluster.statusChangedAt),
    is_managed: false,
    nodes: cluster.nodes,
    storage_mounts_metadata: encodedNull,
    ...withoutNulls({
      ...machineOf(cluster),
      resources_str: resourcesText(cluster),
      resources_str_full: resourcesText(cluster),
      idle: idle && cluster.autostop && idleRecord(idle),
      lifecycle: lifecycle && lifecycleRecord(lifecycle),
      hooks: hooks.length > 0 ? [...hooks] : undefined,
      credentials: isRunning(cluster) ? credentials : undefined,
      ...(!summary && {
        last_creation_yaml: cluster.taskYaml,
        last_creation_command: cluster.command,
        last_event: lastEvent,
        cluster_name_on_cloud: `${cluster.name}-${cluster.id}`,
      }),
    }),
  };
}

/** Of a cluster that is not up yet: whether it comes up by itself, and why it has not. */
const initOf = (
  { status, wanted, wantedBecause, problem }: ListedCluster,
  pending: string | undefined,
) =>
  status === "INIT" && wanted === "UP"
    ? {
        init_kind: problem === null ? ("launching" as const) : ("unhealthy" as const),
        init_status_reason: problem?.message ?? pending ?? wantedBecause,
      }
    : { init_kind: null, init_status_reason: null };

/** SSH leads to its nodes. */
export const isRunning = ({ status }: ListedCluster): boolean =>
  status === "UP" || status === "AUTOSTOPPING";

/** What both records say of a cluster. */
const shared = ({ id, name, user, workspace, labels }: ListedCluster) => ({
  name,
  cluster_hash: id,
  user_name: user.name,
  workspace,
  labels: { ...labels },
});

const machineOf = ({ offer }: ListedCluster) => ({
  cloud: offer.provider,
  region: offer.region,
  cpus: String(offer.cpus),
  memory: String(offer.memoryGb),
  accelerators: acceleratorsText(offer),
});

/**
 * What a cluster cost at an instant, from the times its nodes ran; one that still runs ends then. A summary
 * leaves out what is costly.
 */
export function toCostRecord(
  cluster: ListedCluster,
  intervals: [start: number, end: number | null][],
  now: Date,
  summary: boolean,
): CostReportRecord {
  const { offer, nodes, status } = cluster;
  const usedMs = intervals.reduce((sum, [start, end]) => sum + (end ?? now.getTime()) - start, 0);
  const { cloud, ...machine } = machineOf(cluster);
  return {
    ...shared(cluster),
    cloud,
    status: status === "GONE" ? null : status,
    launched_at: seconds(cluster.launchedAt),
    duration: seconds(usedMs),
    num_nodes: nodes,
    ...{ priority: null, priority_class: null, last_event: null, node_names: null },
    resources_str: resourcesText(cluster),
    resources_str_full: resourcesText(cluster),
    resources: summary ? null : poolResources(offer),
    total_cost: (usedMs / 3_600_000) * offer.dollarsPerHour * nodes,
    last_creation_yaml: cluster.taskYaml ?? "",
    last_creation_command: cluster.command,
    ...(!summary && {
      usage_intervals: intervals.map(([start, end]): [number, number | null] => [
        seconds(start),
        seconds(end),
      ]),
      user_hash: cluster.user.id,
      ...withoutNulls(machine),
    }),
  };
}

const acceleratorsText = ({ accelerators }: ListedCluster["offer"]): string | null =>
  accelerators && JSON.stringify({ [accelerators.name]: accelerators.count });

/** A job of a cluster as `/queue` shows it; of an earlier look with the instant of that. */
export const toJobRecord = (job: Job, asOf?: string): ClusterJobRecord => ({
  job_id: job.id,
  job_name: job.name,
  username: job.userName,
  user_hash: job.userId,
  submitted_at: preciseSeconds(job.submittedAt),
  start_at: preciseSeconds(job.startedAt),
  end_at: preciseSeconds(job.endedAt),
  resources: job.resources,
  status: job.status,
  log_path: job.logPath,
  links: {},
  metadata: {
    ...job.metadata,
    ...(asOf !== undefined && { as_of: asOf }),
    ...(job.reason !== null && { reason: job.reason }),
  },
});
