import type { CostReportRecord } from "../../contract/records/clusters.ts";
import type { ClusterStatus } from "../../contract/statuses.ts";
import { seconds, withoutNulls } from "./fields.ts";
import type { ResourcesRecord } from "./handles.ts";

/** What a cluster used, whether it lives or not. */
export interface CostView {
  readonly name: string;
  readonly hash: string;
  /** Null or GONE when nothing is left of it. */
  readonly status: ClusterStatus | null;
  readonly launchedAt: Date | null;
  /** When it was up; the last interval may be open. */
  readonly intervals: readonly { readonly startedAt: Date; readonly endedAt: Date | null }[];
  readonly nodes: number;
  readonly dollarsPerHour: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly userId: string;
  readonly userName: string | null;
  readonly workspace: string | null;
  /** As in a handle: only an `infra` that existing clients know. */
  readonly resources: ResourcesRecord;
  readonly resourcesText: string;
  readonly resourcesFullText: string;
  readonly cloud: string | null;
  readonly region?: string | null;
  readonly cpus?: string | null;
  readonly memory?: string | null;
  readonly accelerators?: string | null;
  readonly nodeNames?: readonly string[] | null;
  readonly lastEvent?: string | null;
  readonly creationYaml?: string | null;
  readonly creationCommand?: string | null;
}

/** How much of a cost record is asked for; a summary leaves out what is costly. */
export type Detail = "full" | "summary" | "abbreviated";

/** The record of `/cost_report` at an instant, which ends the interval that is still open. */
export function costRecord(cluster: CostView, now: Date, detail: Detail): CostReportRecord {
  const usedMs = usedTimeMs(cluster, now);
  return {
    name: cluster.name,
    launched_at: cluster.launchedAt && seconds(cluster.launchedAt),
    duration: Math.floor(usedMs / 1000),
    num_nodes: cluster.nodes,
    priority: null,
    priority_class: null,
    cluster_hash: cluster.hash,
    status: cluster.status === "GONE" ? null : cluster.status,
    user_name: cluster.userName,
    workspace: cluster.workspace,
    last_event: cluster.lastEvent ?? null,
    node_names: cluster.nodeNames?.join(",") ?? null,
    cloud: cluster.cloud,
    resources_str: cluster.resourcesText,
    resources_str_full: cluster.resourcesFullText,
    resources: null,
    labels: { ...cluster.labels },
    ...(detail === "abbreviated" ? {} : costOf(cluster, usedMs)),
    ...(detail === "full" ? usageOf(cluster) : {}),
  };
}

const usedTimeMs = ({ intervals }: CostView, now: Date): number =>
  intervals
    .map(({ startedAt, endedAt }) => (endedAt ?? now).getTime() - startedAt.getTime())
    .reduce((sum, used) => sum + used, 0);

const costOf = (cluster: CostView, usedMs: number) => ({
  total_cost: (usedMs / 3_600_000) * cluster.dollarsPerHour,
  ...withoutNulls({
    last_creation_yaml: cluster.creationYaml,
    last_creation_command: cluster.creationCommand,
  }),
});

const usageOf = (cluster: CostView) => ({
  resources: cluster.resources,
  usage_intervals: cluster.intervals.map(({ startedAt, endedAt }): [number, number | null] => [
    seconds(startedAt),
    endedAt && seconds(endedAt),
  ]),
  user_hash: cluster.userId,
  ...withoutNulls({
    region: cluster.region,
    cpus: cluster.cpus,
    memory: cluster.memory,
    accelerators: cluster.accelerators,
  }),
});

/** An event of a cluster. */
export interface EventView {
  readonly reason: string;
  readonly at: Date;
}

/** An event of `/cluster_events`: its text alone, or with its instant. */
export const eventRecord = (event: EventView, withTimestamp: boolean) =>
  withTimestamp ? { reason: event.reason, transitioned_at: seconds(event.at) } : event.reason;
