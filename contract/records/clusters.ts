import * as z from "zod";
import { hookEvents } from "../hooks.ts";
import { lifecycleCauses } from "../lifecycle-shapes.ts";
import { clusterMachine, hookRunMachine, jobMachine, lifecycleMachine } from "../statuses.ts";
import { record } from "./record.ts";

/** What stands for the object that a client of this protocol keeps of a cluster; opaque to us. */
export const Handle = z.unknown().describe("Opaque; clients hand it back as it is.");

/** A point in time as whole seconds since 1970. */
export const Seconds = z.int().describe("Unix seconds.");

const text = z.string().nullish();

/** The statuses that the wire shows. */
export const ClusterStatusName = z.enum(clusterMachine.names).exclude(["GONE"]);

/** What `/logs` and the like leave as their result: see `jobExitCodes`. */
export const JobExitCode = z.int().describe("0 succeeded, 100 failed, 101 not finished, …");

/** How to reach a cluster by SSH. */
export const ClusterCredentials = record("ClusterCredentials", {
  ssh_user: z.string(),
  ssh_private_key: z.string().nullable().describe("Path of the key on control."),
  ssh_private_key_content: z.string().optional(),
  ssh_host_key: z.string().optional().describe("What control proves itself with."),
  ssh_control_name: z.string(),
  ssh_proxy_command: z.string().nullable(),
  docker_user: z.string().optional().describe("User inside the container, where there is one."),
  disable_control_master: z.boolean().optional(),
});

const Event = z.enum(hookEvents);

/** A stop, teardown or preemption on its way. */
export const LifecycleRecord = record("LifecycleRecord", {
  id: z.string(),
  action: Event,
  cause: z.enum(lifecycleCauses),
  because: z.string().describe("Who or what wants it: stop by ann."),
  phase: z.enum(lifecycleMachine.names),
  node: z.int().describe("Rank of the node that leads it."),
  started_at: Seconds,
  deadline_at: Seconds.nullable().describe("When the node goes in any case."),
  hook: z
    .object({
      index: z.int().describe("Its place in the list; the first is 0."),
      of: z.int().describe("How long the list is."),
      started_at: Seconds.nullable(),
      timeout: z.number().nullable().describe("Seconds that it has."),
    })
    .nullable()
    .describe("The one that runs."),
  hooks_run: z.array(
    z.object({
      index: z.int(),
      event: Event,
      status: z.enum(hookRunMachine.names),
      exit_code: z.int().nullable(),
      reason: z.string().nullable(),
      seconds: z.number().nullable().describe("How long it took."),
    }),
  ),
});
export type LifecycleRecord = z.output<typeof LifecycleRecord>;

/** A hook that a cluster has. */
export const HookRecord = record("HookRecord", {
  events: z.array(Event),
  timeout: z.number().describe("Seconds that it has."),
  run: z.string().describe("The first line of its script, 80 characters at most."),
  is_legacy: z.boolean().optional().describe("It was written as autostop.hook."),
});
export type HookRecord = z.output<typeof HookRecord>;

/** What the idle timer of a cluster sees. */
export const IdleRecord = record("IdleRecord", {
  since: Seconds.nullable().describe("Null while something keeps it alive."),
  stops_at: Seconds.nullable().describe("When it stops if nothing happens until then."),
  kept_alive_by: z.array(z.string()).describe("job 3, shell, ssh, hook 1 of 2 (stop)."),
});
export type IdleRecord = z.output<typeof IdleRecord>;

/** A cluster as `/status` shows it. Keys that may be missing are left out rather than null. */
export const ClusterStatusRecord = record("ClusterStatusRecord", {
  name: z.string(),
  launched_at: Seconds.describe("Latest launch."),
  handle: Handle,
  last_use: z.string().nullable().describe("Command that last touched it."),
  status: ClusterStatusName,
  autostop: z.int().describe("Idle minutes; negative is off."),
  to_down: z.boolean().describe("The idle action tears down instead of stopping."),
  idle: IdleRecord.nullish().describe("Of a cluster that is up and has autostop."),
  lifecycle: LifecycleRecord.nullish().describe(
    "While one is under way; also one that was taken back, while its last hook runs.",
  ),
  hooks: z.array(HookRecord).nullish().describe("In their order, where there are any."),
  owner: z.array(z.string()).nullish().describe("Cloud identities that own it."),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  cluster_hash: z.string().describe("Id of this incarnation."),
  cluster_ever_up: z.boolean(),
  init_kind: z
    .enum(["launching", "unhealthy"])
    .nullish()
    .describe("Of INIT: on its way up, or in need of repair."),
  init_status_reason: text.describe("Of INIT: why it is."),
  status_updated_at: Seconds.nullable(),
  user_hash: z.string().describe("Id of the owner."),
  user_name: z.string(),
  config_hash: text,
  workspace: z.string(),
  last_creation_yaml: text.describe("Task of the latest launch."),
  last_creation_command: text,
  is_managed: z.boolean().describe("Made for a managed job or a service."),
  last_event: text,
  resources_str: text,
  resources_str_full: text,
  credentials: ClusterCredentials.nullish(),
  nodes: z.int(),
  cloud: text,
  region: text,
  cpus: text,
  memory: text,
  accelerators: text,
  labels: z.record(z.string(), z.string()).nullable(),
  cluster_name_on_cloud: text,
  node_names: text.describe("Joined by commas."),
  priority: z.int().nullish(),
  priority_class: text,
  storage_mounts_metadata: z.unknown().describe("Kept for old clients; holds nothing."),
});
export type ClusterStatusRecord = z.output<typeof ClusterStatusRecord>;

/** A job on a cluster, as `/queue` shows it. */
export const ClusterJobRecord = record("ClusterJobRecord", {
  job_id: z.int(),
  job_name: z.string(),
  username: z.string(),
  user_hash: z.string(),
  submitted_at: z.number().describe("Unix seconds."),
  start_at: z.number().nullable().describe("Unix seconds."),
  end_at: z.number().nullable().describe("Unix seconds."),
  resources: z.string(),
  status: z.enum(jobMachine.names),
  log_path: z.string().describe("Path of the log on the cluster."),
  links: z.record(z.string(), z.string()).describe("Title to address."),
  metadata: z
    .record(z.string(), z.unknown())
    .describe("With `reason` where the status alone does not say why it ended."),
});
export type ClusterJobRecord = z.output<typeof ClusterJobRecord>;

/** What a launch leaves; no job when nothing was submitted. */
export const LaunchResult = z
  .object({ job_id: z.int().nullable(), handle: Handle })
  .meta({ id: "LaunchResult" });

/** An event of a cluster, oldest first. */
export const ClusterEventRecord = z
  .object({ reason: z.string(), transitioned_at: Seconds })
  .meta({ id: "ClusterEventRecord" });

/** What a cluster cost, newest launch first. The optional keys are left out of a summary. */
export const CostReportRecord = record("CostReportRecord", {
  name: z.string(),
  launched_at: Seconds.nullable(),
  duration: z.int().describe("Seconds up."),
  num_nodes: z.int(),
  resources: z.unknown().describe("Opaque."),
  priority: z.int().nullable(),
  priority_class: z.string().nullable(),
  cluster_hash: z.string(),
  usage_intervals: z.array(z.tuple([Seconds, Seconds.nullable()])).optional(),
  status: ClusterStatusName.nullable().describe("Null when the cluster is gone."),
  user_hash: z.string().optional(),
  user_name: z.string().nullable(),
  workspace: z.string().nullable(),
  last_event: z.string().nullable(),
  node_names: z.string().nullable(),
  last_creation_yaml: text,
  last_creation_command: text,
  total_cost: z.number().optional().describe("Dollars, estimated."),
  cloud: z.string().nullable(),
  region: text,
  cpus: text,
  memory: text,
  accelerators: text,
  resources_str: z.string(),
  resources_str_full: z.string(),
  labels: z.record(z.string(), z.string()),
});
export type CostReportRecord = z.output<typeof CostReportRecord>;
