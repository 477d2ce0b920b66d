import * as z from "zod";
import {
  type ReplicaInfo,
  ReplicaStatusName,
  ServiceStatusName,
  type ServiceStatusRecord,
} from "../../contract/records/services.ts";
import { formOf, infraOf, text, type Ways } from "./shapes.ts";

/** What a replica of a service and a worker of a pool have in common. */
const member = ({ of, when }: Ways<ReplicaInfo>) => ({
  id: of(z.int(), (row) => row.replica_id),
  cluster: of(z.string(), (row) => row.name),
  status: ReplicaStatusName,
  status_reason: text,
  version: z.int().describe("Version of the service or pool that set it up."),
  infra: of(text.describe("cloud/region."), (row) => infraOf(row.cloud, row.region)),
  resources: of(text, (row) => row.resources_str ?? null),
  is_spot: z.boolean(),
  launched_at: when((row) => row.launched_at),
});

const replicaForm = formOf((ways: Ways<ReplicaInfo>) => ({
  ...member(ways),
  hint: text.describe("What helps one that starts."),
  endpoint: text,
}));

const workerForm = formOf((ways: Ways<ReplicaInfo>) => ({
  ...member(ways),
  jobs: ways.of(z.array(z.int()).describe("Managed jobs that it has."), (row) => row.used_by ?? []),
}));

/** What a service and a pool have in common. */
const shared = ({ of, when }: Ways<ServiceStatusRecord>) => ({
  id: of(
    z.string().describe("Of this incarnation; another one of the name has another."),
    (row) => row.hash,
  ),
  name: z.string(),
  status: ServiceStatusName,
  status_reason: text,
  ready_since: when((row) => row.uptime),
  version: z.int().describe("The newest one."),
  given_up: text.describe("Why the newest version was given up."),
  policy: text.describe("How it scales."),
  resources: of(z.string(), (row) => row.requested_resources_str),
  target_reason: text.describe("Why this is the target number."),
});

const membersOf = ({ replica_info: members }: ServiceStatusRecord) =>
  members.toSorted((a, b) => a.replica_id - b.replica_id);

/** A service with its replicas, as `serve status` prints it. */
export const serviceForm = formOf((ways: Ways<ServiceStatusRecord>) => ({
  ...shared(ways),
  endpoint: text.describe("Address of the balancer."),
  active_versions: z.array(z.int()).describe("Those that serve."),
  load_balancing_policy: text,
  target_replicas: ways.of(z.int().nullable(), (row) => row.target_num_replicas),
  max_replicas: z.int().nullable(),
  replicas: ways.of(z.array(replicaForm.schema), (row) => membersOf(row).map(replicaForm.of)),
}));

/** A pool with its workers, as `jobs pool status` prints it. */
export const workerPoolForm = formOf((ways: Ways<ServiceStatusRecord>) => ({
  ...shared(ways),
  target_workers: ways.of(z.int().nullable(), (row) => row.target_num_replicas),
  workers: ways.of(z.array(workerForm.schema), (row) => membersOf(row).map(workerForm.of)),
}));
