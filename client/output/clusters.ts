import * as z from "zod";
import {
  ClusterStatusName,
  type ClusterStatusRecord,
  type CostReportRecord,
  HookRecord,
  IdleRecord,
  LifecycleRecord,
} from "../../contract/records/clusters.ts";
import { form, formOf, infraOf, instant, instantOf, text, type Ways } from "./shapes.ts";

const whenAny = instant.nullable();
const { hook: Hook, ...lifecycle } = LifecycleRecord.shape;

/** A cluster, as `status` prints it. */
export const clusterForm = formOf(({ of, when }: Ways<ClusterStatusRecord>) => ({
  id: of(
    z.string().describe("Of this incarnation; another cluster of the name has another."),
    (row) => row.cluster_hash,
  ),
  name: z.string(),
  status: ClusterStatusName,
  status_reason: of(text.describe("Why it is INIT."), (row) => row.init_status_reason ?? null),
  status_since: when((row) => row.status_updated_at),
  user: of(z.string(), (row) => row.user_name),
  workspace: z.string(),
  infra: of(text.describe("cloud/region."), (row) => infraOf(row.cloud, row.region)),
  resources: of(text.describe("Of each node."), (row) => row.resources_str ?? null),
  nodes: z.int(),
  labels: of(z.record(z.string(), z.string()), (row) => row.labels ?? {}),
  launched_at: of(instant.describe("Latest launch."), (row) => instantOf(row.launched_at) ?? ""),
  command: of(
    text.describe("That of the latest launch."),
    (row) => row.last_creation_command ?? null,
  ),
  last_event: text,
  autostop: of(
    z.strictObject({ idle_minutes: z.int(), action: z.enum(["stop", "down"]) }).nullable(),
    ({ autostop, to_down: isDown }) =>
      autostop < 0
        ? null
        : { idle_minutes: autostop, action: isDown ? ("down" as const) : ("stop" as const) },
  ),
  idle: of(
    z
      .strictObject({ ...IdleRecord.shape, since: whenAny, stops_at: whenAny })
      .nullable()
      .describe("Of a cluster that is up and has autostop."),
    ({ idle }) =>
      idle
        ? {
            kept_alive_by: idle.kept_alive_by,
            since: instantOf(idle.since),
            stops_at: instantOf(idle.stops_at),
          }
        : null,
  ),
  lifecycle: of(
    z
      .strictObject({
        ...lifecycle,
        started_at: instant,
        deadline_at: whenAny,
        hook: Hook.unwrap().extend({ started_at: whenAny }).nullable(),
      })
      .nullable()
      .describe("The stop, teardown or preemption that is under way."),
    (row) => (row.lifecycle ? lifecycleOf(row.lifecycle) : null),
  ),
  hooks: of(z.array(HookRecord), (row) => row.hooks ?? []),
}));

const lifecycleOf = ({ started_at, deadline_at, hook, ...rest }: LifecycleRecord) => ({
  ...rest,
  started_at: instantOf(started_at) ?? "",
  deadline_at: instantOf(deadline_at),
  hook: hook && { ...hook, started_at: instantOf(hook.started_at) },
});

/** What a cluster cost, as `cost-report` prints it. */
export const costForm = formOf(({ of, when }: Ways<CostReportRecord>) => ({
  id: of(z.string(), (row) => row.cluster_hash),
  name: z.string(),
  status: ClusterStatusName.nullable().describe("Null when the cluster is gone."),
  user: of(text, (row) => row.user_name),
  workspace: text,
  infra: of(text, (row) => infraOf(row.cloud, row.region)),
  resources: of(z.string(), (row) => row.resources_str),
  nodes: of(z.int(), (row) => row.num_nodes),
  launched_at: when((row) => row.launched_at),
  duration_seconds: of(z.int().describe("How long it was up."), (row) => row.duration),
  cost_usd: of(z.number().nullable().describe("Estimated."), (row) => row.total_cost ?? null),
  labels: z.record(z.string(), z.string()),
}));

const CostGroup = z.strictObject({
  group: text.describe("Null for clusters without one."),
  clusters: z.int(),
  node_seconds: z.int().describe("Of all nodes together."),
  cost_usd: z.number().describe("Estimated."),
});
export type CostGroup = z.output<typeof CostGroup>;

/** What the clusters of a user, a workspace or a label cost, as `cost-report --by` prints it. */
export const costGroupForm = form(CostGroup);

/** An address of a port, as `status --endpoints` prints it. */
export const endpointForm = formOf(
  ({ of }: Ways<{ cluster: string; port: string; endpoint: string }>) => ({
    cluster: z.string(),
    port: of(z.int(), (row) => Number(row.port)),
    endpoint: z.string(),
  }),
);
