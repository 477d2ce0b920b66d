import { product } from "../../common/product.ts";
import type { Idle } from "../../contract/agent-shapes.ts";
import type {
  ClusterStatusRecord,
  CostReportRecord,
  HookRecord,
} from "../../contract/records/clusters.ts";
import { sshPorts } from "../../contract/ssh-door.ts";
import { clusterRecord } from "../wire/cluster-record.ts";
import { type Handle, type HandleRecord, handleRecord, poolResources } from "../wire/handles.ts";
import { costRecord } from "../wire/history-records.ts";
import type { StoredLifecycle } from "./lifecycles/schema.ts";
import { type ListedCluster, resourcesText } from "./schema.ts";

/** What clients keep of a cluster. */
export const toHandle = (cluster: ListedCluster): HandleRecord => {
  const handle: Handle = {
    clusterName: cluster.name,
    clusterNameOnCloud: `${cluster.name}-${cluster.id}`,
    nodes: cluster.nodes,
    addresses:
      cluster.addresses.length === 0
        ? null
        : cluster.addresses.map((address) => ({ internal: address, external: address })),
    sshPorts: cluster.addresses.map((_, rank) => sshPorts.first + rank),
    sshUser: product.word,
    resources: poolResources(cluster.offer),
  };
  return handleRecord(handle);
};

/** What is known of a cluster besides its row, and how much of it is wanted. */
export interface Showing {
  readonly summary: boolean;
  readonly handle: boolean;
  readonly lastEvent?: string | undefined;
  readonly idle?: Idle | undefined;
  /** The lifecycles that are under way, before those whose hook goes on although they are over. */
  readonly lifecycles: readonly StoredLifecycle[];
  readonly hooks: readonly HookRecord[];
  readonly credentials?: ClusterStatusRecord["credentials"];
}

/** A live cluster as `/status` shows it; a summary leaves out what is long. */
export function toStatusRecord(
  cluster: ListedCluster,
  { summary, handle, lastEvent, idle, lifecycles, hooks, credentials }: Showing,
): ClusterStatusRecord {
  const { status } = cluster;
  if (status === "GONE") throw new Error("a cluster that is gone has no record");
  return clusterRecord({
    ...shared(cluster),
    status,
    statusChangedAt: new Date(cluster.statusChangedAt),
    init: initOf(cluster),
    everUp: cluster.everUp,
    autostop: cluster.autostop,
    idle: cluster.autostop === null ? undefined : idle,
    // What was asked of the cluster is led by its head.
    lifecycle: lifecycles.find(({ rank }) => rank === 0) ?? lifecycles[0],
    hooks,
    handle: handle ? toHandle(cluster) : null,
    ...(isRunning(cluster) && { credentials }),
    lastUse: cluster.command,
    labels: cluster.labels,
    ...(!summary && {
      creationYaml: cluster.taskYaml ?? null,
      creationCommand: cluster.command,
      nameOnCloud: `${cluster.name}-${cluster.id}`,
      ...(lastEvent !== undefined && { lastEvent }),
    }),
  });
}

/** Of a cluster that is not up yet: whether it comes up by itself, and why it has not. */
const initOf = ({ status, wanted, wantedBecause, problem }: ListedCluster) =>
  status === "INIT" && wanted === "UP"
    ? {
        kind: problem === null ? ("launching" as const) : ("unhealthy" as const),
        reason: problem?.message ?? wantedBecause,
      }
    : null;

/** SSH leads to its nodes. */
export const isRunning = ({ status }: ListedCluster): boolean =>
  status === "UP" || status === "AUTOSTOPPING";

/** What both records say of a cluster. */
const shared = (cluster: ListedCluster) => ({
  name: cluster.name,
  hash: cluster.id,
  launchedAt: new Date(cluster.launchedAt),
  nodes: cluster.nodes,
  userId: cluster.user.id,
  userName: cluster.user.name,
  workspace: cluster.workspace,
  resourcesText: resourcesText(cluster),
  resourcesFullText: resourcesText(cluster),
  cloud: cluster.offer.provider,
  region: cluster.offer.region,
  cpus: String(cluster.offer.cpus),
  memory: String(cluster.offer.memoryGb),
  accelerators: acceleratorsText(cluster),
});

/** What a cluster cost, from the times its nodes ran. */
export function toCostRecord(
  cluster: ListedCluster,
  intervals: [start: number, end: number | null][],
  now: Date,
  summary: boolean,
): CostReportRecord {
  const view = {
    ...shared(cluster),
    status: cluster.status,
    intervals: intervals.map(([start, end]) => ({
      startedAt: new Date(start),
      endedAt: end === null ? null : new Date(end),
    })),
    dollarsPerHour: cluster.offer.dollarsPerHour * cluster.nodes,
    labels: cluster.labels,
    resources: poolResources(cluster.offer),
    creationYaml: cluster.taskYaml ?? "",
    creationCommand: cluster.command,
  };
  return costRecord(view, now, summary ? "summary" : "full");
}

const acceleratorsText = ({ offer }: ListedCluster): string | null =>
  offer.accelerators && JSON.stringify({ [offer.accelerators.name]: offer.accelerators.count });
