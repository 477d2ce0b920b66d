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

const Worker = z.strictObject({
  id: z.int(),
  cluster: z.string(),
  status: ReplicaStatusName,
  status_reason: text,
  version: z.int().describe("Version of the pool that set it up."),
  infra: text.describe("cloud/region."),
  resources: text,
  is_spot: z.boolean(),
  launched_at: when,
  jobs: z.array(z.int()).describe("Managed jobs that it has."),
});

const workerOf = (row: ReplicaInfo): z.output<typeof Worker> => ({
  id: row.replica_id,
  cluster: row.name,
  status: row.status,
  status_reason: row.status_reason ?? null,
  version: row.version,
  infra: infraOf(row.cloud, row.region),
  resources: row.resources_str ?? null,
  is_spot: row.is_spot,
  launched_at: instantOf(row.launched_at),
  jobs: row.used_by ?? [],
});

/** A pool with its workers, as `jobs pool status` prints it. */
export const workerPoolForm = form(
  z.strictObject({
    id: z.string().describe("Of this incarnation; another pool of the name has another."),
    name: z.string(),
    status: ServiceStatusName,
    status_reason: text,
    ready_since: when,
    version: z.int().describe("The newest one."),
    given_up: text.describe("Why the newest version is not tried any more."),
    policy: text.describe("How it scales."),
    resources: z.string(),
    target_workers: z.int().nullable(),
    target_reason: text.describe("Why it should have so many workers."),
    workers: z.array(Worker),
  }),
  (row: ServiceStatusRecord) => ({
    id: row.hash,
    name: row.name,
    status: row.status,
    status_reason: row.status_reason ?? null,
    ready_since: instantOf(row.uptime),
    version: row.version,
    given_up: row.given_up ?? null,
    policy: row.policy,
    resources: row.requested_resources_str,
    target_workers: row.target_num_replicas,
    target_reason: row.target_reason ?? null,
    workers: row.replica_info.toSorted((a, b) => a.replica_id - b.replica_id).map(workerOf),
  }),
);
