import * as z from "zod";
import { replicaMachine, serviceMachine } from "../statuses.ts";
import { Handle, Seconds } from "./clusters.ts";
import { record } from "./record.ts";

/** The statuses of a service or pool that the wire shows. */
export const ServiceStatusName = z.enum(serviceMachine.names).exclude(["GONE"]);

/** The statuses of a replica or worker that the wire shows; clients know an UNKNOWN as well. */
export const ReplicaStatusName = z.enum([...replicaMachine.names, "UNKNOWN"]).exclude(["GONE"]);

/** A part of a service whose log can be read. */
export const ServiceComponent = z.enum(["controller", "load_balancer", "replica"]);

/** How replicas or workers go to a new version. */
export const UpdateMode = z
  .enum(["rolling", "blue_green"])
  .describe("Old and new side by side, or a switch when the new set is ready.");
export type UpdateMode = z.output<typeof UpdateMode>;

/** A replica of a service, or a worker of a pool. */
export const ReplicaInfo = record("ReplicaInfo", {
  replica_id: z.int(),
  name: z.string().describe("Its cluster."),
  status: ReplicaStatusName,
  version: z.int().describe("Version of the service it runs."),
  replica_info_version: z.int(),
  endpoint: z.string().nullable().describe("Null for workers."),
  is_spot: z.boolean(),
  launched_at: Seconds.nullable(),
  handle: Handle,
  status_reason: z
    .string()
    .optional()
    .describe("Why it has that status; of a failed one with the last lines that it printed."),
  hint: z
    .string()
    .optional()
    .describe("Of one that starts: where its server listens instead of on $PORT, and what helps."),
  cloud: z.string().optional(),
  region: z.string().optional(),
  infra: z.string().optional().describe("cloud/region."),
  resources_str: z.string().optional(),
  resources_str_full: z.string().optional(),
  used_by: z.array(z.int()).optional().describe("Managed jobs on this worker."),
});
export type ReplicaInfo = z.output<typeof ReplicaInfo>;

/** A service or a pool with its replicas or workers. */
export const ServiceStatusRecord = record("ServiceStatusRecord", {
  name: z.string(),
  controller_job_id: z.int().nullable(),
  controller_port: z.int().nullable(),
  load_balancer_port: z.int().nullable(),
  status: ServiceStatusName,
  status_reason: z.string().optional().describe("Why it has that status."),
  uptime: Seconds.nullable().describe("Unix seconds since when it is ready."),
  policy: z.string().nullable().describe("How it scales."),
  version: z.int().describe("The newest one."),
  given_up: z
    .string()
    .optional()
    .describe("Why the newest version was given up, and the previous one continues."),
  active_versions: z.array(z.int()).describe("Those that serve."),
  requested_resources_str: z.string(),
  load_balancing_policy: z.string().nullable(),
  tls_encrypted: z.boolean(),
  pool: z.boolean().describe("Is a pool."),
  controller_pid: z.int().nullable(),
  hash: z.string().describe("Id of this incarnation."),
  entrypoint: z.string().nullable(),
  yaml_content: z.string().nullable().describe("Task of the newest version."),
  pool_yaml: z.string().describe("Pool as the user wrote it; empty for services."),
  target_num_replicas: z.int().nullable(),
  max_replicas: z.int().optional().describe("Maximum number; 0 is none."),
  target_reason: z.string().optional().describe("Why this is the target number."),
  replica_info: z.array(ReplicaInfo),
  endpoint: z.string().nullable().describe("Address of the balancer; null for pools."),
});
export type ServiceStatusRecord = z.output<typeof ServiceStatusRecord>;
