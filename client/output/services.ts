import * as z from "zod";
import {
  type ReplicaInfo,
  ReplicaStatusName,
  ServiceStatusName,
  type ServiceStatusRecord,
} from "../../contract/records/services.ts";
import { form, infraOf, instant, instantOf } from "./shapes.ts";

const when = instant.nullable();
const text = z.string().nullable();

/** What a replica of a service and a worker of a pool have in common. */
const member = {
  id: z.int(),
  cluster: z.string(),
  status: ReplicaStatusName,
  status_reason: text,
  version: z.int().describe("Version of the service or pool that set it up."),
  infra: text.describe("cloud/region."),
  resources: text,
  is_spot: z.boolean(),
  launched_at: when,
};

const memberOf = (row: ReplicaInfo) => ({
  id: row.replica_id,
  cluster: row.name,
  status: row.status,
  status_reason: row.status_reason ?? null,
  version: row.version,
  infra: infraOf(row.cloud, row.region),
  resources: row.resources_str ?? null,
  is_spot: row.is_spot,
  launched_at: instantOf(row.launched_at),
});

/** What a service and a pool have in common. */
const shared = {
  id: z.string().describe("Of this incarnation; another one of the name has another."),
  name: z.string(),
  status: ServiceStatusName,
  status_reason: text,
  ready_since: when,
  version: z.int().describe("The newest one."),
  given_up: text.describe("Why the newest version was given up."),
  policy: text.describe("How it scales."),
  resources: z.string(),
  target_reason: text.describe("Why this is the target number."),
};

const sharedOf = (row: ServiceStatusRecord) => ({
  id: row.hash,
  name: row.name,
  status: row.status,
  status_reason: row.status_reason ?? null,
  ready_since: instantOf(row.uptime),
  version: row.version,
  given_up: row.given_up ?? null,
  policy: row.policy,
  resources: row.requested_resources_str,
  target_reason: row.target_reason ?? null,
});

const membersOf = ({ replica_info: members }: ServiceStatusRecord) =>
  members.toSorted((a, b) => a.replica_id - b.replica_id);

/** A service with its replicas, as `serve status` prints it. */
export const serviceForm = form(
  z.strictObject({
    ...shared,
    endpoint: text.describe("Address of the balancer."),
    active_versions: z.array(z.int()).describe("Those that serve."),
    load_balancing_policy: text,
    target_replicas: z.int().nullable(),
    max_replicas: z.int().nullable(),
    replicas: z.array(
      z.strictObject({
        ...member,
        hint: text.describe("What helps one that starts."),
        endpoint: text,
      }),
    ),
  }),
  (row: ServiceStatusRecord) => ({
    ...sharedOf(row),
    endpoint: row.endpoint,
    active_versions: row.active_versions,
    load_balancing_policy: row.load_balancing_policy,
    target_replicas: row.target_num_replicas,
    max_replicas: row.max_replicas ?? null,
    replicas: membersOf(row).map((replica) => ({
      ...memberOf(replica),
      ...{ hint: replica.hint ?? null, endpoint: replica.endpoint },
    })),
  }),
);

/** A pool with its workers, as `jobs pool status` prints it. */
export const workerPoolForm = form(
  z.strictObject({
    ...shared,
    target_workers: z.int().nullable(),
    workers: z.array(
      z.strictObject({
        ...member,
        jobs: z.array(z.int()).describe("Managed jobs that it has."),
      }),
    ),
  }),
  (row: ServiceStatusRecord) => ({
    ...sharedOf(row),
    target_workers: row.target_num_replicas,
    workers: membersOf(row).map((worker) => ({
      ...memberOf(worker),
      jobs: worker.used_by ?? [],
    })),
  }),
);
