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

const Replica = z.strictObject({
  id: z.int(),
  cluster: z.string(),
  status: ReplicaStatusName,
  status_reason: text,
  hint: text.describe("What helps one that starts."),
  version: z.int().describe("Version of the service it runs."),
  endpoint: text,
  infra: text.describe("cloud/region."),
  resources: text,
  is_spot: z.boolean(),
  launched_at: when,
});

const replicaOf = (row: ReplicaInfo): z.output<typeof Replica> => ({
  id: row.replica_id,
  cluster: row.name,
  status: row.status,
  status_reason: row.status_reason ?? null,
  hint: row.hint ?? null,
  version: row.version,
  endpoint: row.endpoint,
  infra: infraOf(row.cloud, row.region),
  resources: row.resources_str ?? null,
  is_spot: row.is_spot,
  launched_at: instantOf(row.launched_at),
});

/** A service with its replicas, as `serve status` prints it. */
export const serviceForm = form(
  z.strictObject({
    id: z.string().describe("Of this incarnation; another service of the name has another."),
    name: z.string(),
    status: ServiceStatusName,
    status_reason: text,
    ready_since: when,
    endpoint: text.describe("Address of the balancer."),
    version: z.int().describe("The newest one."),
    active_versions: z.array(z.int()).describe("Those that serve."),
    given_up: text.describe("Why the newest version is not tried any more."),
    policy: text.describe("How it scales."),
    load_balancing_policy: text,
    resources: z.string(),
    target_replicas: z.int().nullable(),
    target_reason: text.describe("Why it should have so many replicas."),
    max_replicas: z.int().nullable(),
    replicas: z.array(Replica),
  }),
  (row: ServiceStatusRecord) => ({
    id: row.hash,
    name: row.name,
    status: row.status,
    status_reason: row.status_reason ?? null,
    ready_since: instantOf(row.uptime),
    endpoint: row.endpoint,
    version: row.version,
    active_versions: row.active_versions,
    given_up: row.given_up ?? null,
    policy: row.policy,
    load_balancing_policy: row.load_balancing_policy,
    resources: row.requested_resources_str,
    target_replicas: row.target_num_replicas,
    target_reason: row.target_reason ?? null,
    max_replicas: row.max_replicas ?? null,
    replicas: row.replica_info.toSorted((a, b) => a.replica_id - b.replica_id).map(replicaOf),
  }),
);
