import * as z from "zod";
import type { Orphan } from "../../contract/operations/orphans.ts";
import { CloudCapability, type InstanceTypeRow } from "../../contract/records/clouds.ts";
import { Explanation } from "../../contract/records/explanation.ts";
import type { SshNodePoolStatus } from "../../contract/records/ssh-node-pools.ts";
import { Restoration } from "../../contract/restoration.ts";
import { requestMachine } from "../../contract/statuses.ts";
import type { Health } from "../sdk.ts";
import { form, infraOf, instant, instantOf } from "./shapes.ts";

const when = instant.nullable();
const text = z.string().nullable();

/** What the client reads of a request. */
export interface RequestRow {
  readonly request_id: string;
  readonly name: string;
  readonly status: (typeof requestMachine.names)[number];
  readonly created_at: number;
  readonly user_name?: string | null;
  readonly cluster_name?: string | null;
  readonly status_msg?: string | null;
  readonly finished_at?: number | null;
}

/** A request, as `api status` prints it. */
export const requestForm = form(
  z.strictObject({
    id: z.string(),
    name: z.string().describe("What it does: launch."),
    status: z.enum(requestMachine.names),
    status_reason: text.describe("Why it still waits."),
    cluster: text,
    user: text,
    created_at: when,
    finished_at: when,
  }),
  (row: RequestRow) => ({
    id: row.request_id,
    name: requestName(row),
    status: row.status,
    status_reason: row.status_msg ?? null,
    cluster: row.cluster_name ?? null,
    user: row.user_name ?? null,
    created_at: instantOf(row.created_at),
    finished_at: instantOf(row.finished_at),
  }),
);

/** The name of a request without the prefix of the protocol. */
export const requestName = ({ name }: Pick<RequestRow, "name">): string =>
  name.replace(/^\w+?\./, "");

/** A cluster that the database lost, as `api orphans` prints it. */
export const orphanForm = form(
  z.strictObject({
    id: z.string(),
    name: text.describe("Null where its nodes do not say."),
    infra: z.string(),
    nodes: z.int().describe("How many were found."),
    active_jobs: z.int().nullable(),
  }),
  ({ id, name, provider, nodes, jobs }: Orphan) => ({
    ...{ id, name, infra: provider, nodes, active_jobs: jobs },
  }),
);

/** The control plane, as `api info` prints it. */
export const infoForm = form(
  z.strictObject({
    endpoint: z.string(),
    status: z.string().describe("healthy, or what is wrong."),
    version: z.string().describe("Of the protocol."),
    api_version: z.int(),
    release: text.describe("Of the product; null if it is not Outrigger's."),
    commit: text.describe("That it was built from; null if it does not know."),
    user: z.strictObject({ id: z.string(), name: text }).nullable().describe("Who you are to it."),
  }),
  ({ api_version, release, commit, user, ...health }: Health & { endpoint: string }) => ({
    ...{ endpoint: health.endpoint, status: health.status, version: health.version },
    ...{ api_version: Number(api_version), release: release ?? null, commit: commit || null },
    user: user ? { id: user.id, name: user.name ?? null } : null,
  }),
);

/** A database that was restored, as `api restore` prints it. */
export const restorationForm = form(Restoration, (row: Restoration) => row);

const { attempt: Attempt, ...explained } = Explanation.shape;

/** Why something is not yet as it should be, as `explain` prints it. */
export const explanationForm = form(
  z.strictObject({
    ...explained,
    since: instant,
    attempt: Attempt.unwrap().extend({ failed_at: instant, next_at: instant }).nullable(),
  }),
  ({ since, attempt, ...row }: Explanation) => ({
    ...row,
    since: instantOf(since) ?? "",
    attempt: attempt && {
      ...attempt,
      failed_at: instantOf(attempt.failed_at) ?? "",
      next_at: instantOf(attempt.next_at) ?? "",
    },
  }),
);

/** What can be used where, as `check` prints it. */
export const checkForm = form(
  z.strictObject({
    workspace: z.string(),
    infra: z.string(),
    capabilities: z.array(CloudCapability),
  }),
  (row: { workspace: string; infra: string; capabilities: z.output<typeof CloudCapability>[] }) =>
    row,
);

const figure = z.number().nullable();

/** A machine with accelerators, as `gpus list` prints it. */
export const machineForm = form(
  z.strictObject({
    accelerator: z.string(),
    count: z.number(),
    memory_gb: figure.describe("Of one accelerator."),
    infra: z.string().nullable(),
    machine: text,
    cpus: figure,
    host_memory_gb: figure,
    usd_per_hour: figure,
    spot_usd_per_hour: figure,
  }),
  ([cloud, machine, accelerator, count, cpus, memory_gb, host, price, spot, region]: z.output<
    typeof InstanceTypeRow
  >) => ({
    ...{ accelerator, count, memory_gb, machine, cpus },
    infra: infraOf(cloud, region === "*" ? null : region),
    host_memory_gb: host,
    usd_per_hour: price,
    spot_usd_per_hour: spot,
  }),
);

const PoolStatus = z.enum(["Ready", "Not Ready"]);

/** A pool, as `ssh status` prints it. */
export const poolForm = form(
  z.strictObject({
    name: z.string(),
    status: PoolStatus,
    status_reason: z.string(),
    hosts: z.array(
      z.strictObject({ name: z.string(), status: PoolStatus, status_reason: z.string() }),
    ),
  }),
  ({ pool_name: name, status, reason, hosts }: z.output<typeof SshNodePoolStatus>) => ({
    ...{ name, status, status_reason: reason },
    hosts: hosts.map((host) => ({
      ...{ name: host.name, status: host.status, status_reason: host.reason },
    })),
  }),
);

/** A private key, as `ssh keys` prints it. */
export const keyForm = form(z.strictObject({ name: z.string() }), (row: { name: string }) => row);
