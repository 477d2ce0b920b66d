import * as z from "zod";
import {
  ClusterStatusName,
  type ClusterStatusRecord,
  type CostReportRecord,
  HookRecord,
  IdleRecord,
  LifecycleRecord,
} from "../../contract/records/clusters.ts";
import { form, infraOf, instant, instantOf } from "./shapes.ts";

const when = instant.nullable();
const { hook: Hook, ...lifecycle } = LifecycleRecord.shape;

const Cluster = z.strictObject({
  id: z.string().describe("Of this incarnation; another cluster of the name has another."),
  name: z.string(),
  status: ClusterStatusName,
  status_reason: z.string().nullable().describe("Why it is INIT."),
  status_since: when,
  user: z.string(),
  workspace: z.string(),
  infra: z.string().nullable().describe("cloud/region."),
  resources: z.string().nullable().describe("Of each node."),
  nodes: z.int(),
  labels: z.record(z.string(), z.string()),
  launched_at: instant.describe("Latest launch."),
  command: z.string().nullable().describe("That of the latest launch."),
  last_event: z.string().nullable(),
  autostop: z.strictObject({ idle_minutes: z.int(), action: z.enum(["stop", "down"]) }).nullable(),
  idle: z
    .strictObject({ ...IdleRecord.shape, since: when, stops_at: when })
    .nullable()
    .describe("Of a cluster that is up and has autostop."),
  lifecycle: z
    .strictObject({
      ...lifecycle,
      started_at: instant,
      deadline_at: when,
      hook: Hook.unwrap().extend({ started_at: when }).nullable(),
    })
    .nullable()
    .describe("The stop, teardown or preemption that is under way."),
  hooks: z.array(HookRecord),
});

/** A cluster, as `status` prints it. */
export const clusterForm = form(Cluster, (row: ClusterStatusRecord) => ({
  id: row.cluster_hash,
  name: row.name,
  status: row.status,
  status_reason: row.init_status_reason ?? null,
  status_since: instantOf(row.status_updated_at),
  user: row.user_name,
  workspace: row.workspace,
  infra: infraOf(row.cloud, row.region),
  resources: row.resources_str ?? null,
  nodes: row.nodes,
  labels: row.labels ?? {},
  launched_at: instantOf(row.launched_at) ?? "",
  command: row.last_creation_command ?? null,
  last_event: row.last_event ?? null,
  autostop:
    row.autostop < 0
      ? null
      : { idle_minutes: row.autostop, action: row.to_down ? ("down" as const) : ("stop" as const) },
  idle: row.idle
    ? {
        kept_alive_by: row.idle.kept_alive_by,
        since: instantOf(row.idle.since),
        stops_at: instantOf(row.idle.stops_at),
      }
    : null,
  lifecycle: row.lifecycle ? lifecycleOf(row.lifecycle) : null,
  hooks: row.hooks ?? [],
}));

const lifecycleOf = ({ started_at, deadline_at, hook, ...rest }: LifecycleRecord) => ({
  ...rest,
  started_at: instantOf(started_at) ?? "",
  deadline_at: instantOf(deadline_at),
  hook: hook && { ...hook, started_at: instantOf(hook.started_at) },
});

/** What a cluster cost, as `cost-report` prints it. */
export const costForm = form(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    status: ClusterStatusName.nullable().describe("Null when the cluster is gone."),
    user: z.string().nullable(),
    workspace: z.string().nullable(),
    infra: z.string().nullable(),
    resources: z.string(),
    nodes: z.int(),
    launched_at: when,
    duration_seconds: z.int().describe("How long it was up."),
    cost_usd: z.number().nullable().describe("Estimated."),
    labels: z.record(z.string(), z.string()),
  }),
  (row: CostReportRecord) => ({
    id: row.cluster_hash,
    name: row.name,
    status: row.status,
    user: row.user_name,
    workspace: row.workspace,
    infra: infraOf(row.cloud, row.region),
    resources: row.resources_str,
    nodes: row.num_nodes,
    launched_at: instantOf(row.launched_at),
    duration_seconds: row.duration,
    cost_usd: row.total_cost ?? null,
    labels: row.labels,
  }),
);

/** What the clusters of a user, a workspace or a label cost, as `cost-report --by` prints it. */
export const costGroupForm = form(
  z.strictObject({
    group: z.string().nullable().describe("Null for clusters without one."),
    clusters: z.int(),
    node_seconds: z.int().describe("Of all nodes together."),
    cost_usd: z.number().describe("Estimated."),
  }),
  (row: CostGroup) => row,
);

export interface CostGroup {
  readonly group: string | null;
  readonly clusters: number;
  readonly node_seconds: number;
  readonly cost_usd: number;
}

/** An address of a port, as `status --endpoints` prints it. */
export const endpointForm = form(
  z.strictObject({ cluster: z.string(), port: z.int(), endpoint: z.string() }),
  (row: { cluster: string; port: string; endpoint: string }) => ({
    ...row,
    port: Number(row.port),
  }),
);
