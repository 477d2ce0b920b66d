import * as z from "zod";
import type { Orphan } from "../../contract/operations/orphans.ts";
import { CloudCapability, type InstanceTypeRow } from "../../contract/records/clouds.ts";
import { Explanation } from "../../contract/records/explanation.ts";
import type { SshNodePoolStatus } from "../../contract/records/ssh-node-pools.ts";
import { Restoration } from "../../contract/restoration.ts";
import { requestMachine } from "../../contract/statuses.ts";
import type { Health } from "../sdk.ts";
import { form, formOf, infraOf, instant, instantOf, text, type Ways } from "./shapes.ts";

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
export const requestForm = formOf(({ of, when }: Ways<RequestRow>) => ({
  id: of(z.string(), (row) => row.request_id),
  name: of(z.string().describe("What it does: launch."), requestName),
  status: z.enum(requestMachine.names),
  status_reason: of(text.describe("Why it still waits."), (row) => row.status_msg ?? null),
  cluster: of(text, (row) => row.cluster_name ?? null),
  user: of(text, (row) => row.user_name ?? null),
  created_at: when((row) => row.created_at),
  finished_at: when((row) => row.finished_at),
}));

/** The name of a request without the prefix of the protocol. */
export function requestName({ name }: Pick<RequestRow, "name">): string {
  return name.replace(/^\w+?\./, "");
}

/** A cluster that the database lost, as `api orphans` prints it. */
export const orphanForm = formOf(({ of }: Ways<Orphan>) => ({
  id: z.string(),
  name: text.describe("Null where its nodes do not say."),
  infra: of(z.string(), (row) => row.provider),
  nodes: z.int().describe("How many were found."),
  active_jobs: of(z.int().nullable(), (row) => row.jobs),
}));

/** The control plane, as `api info` prints it. */
export const infoForm = formOf(({ of }: Ways<Health & { endpoint: string }>) => ({
  endpoint: z.string(),
  status: z.string().describe("healthy, or what is wrong."),
  version: z.string().describe("Of the protocol."),
  api_version: of(z.int(), (row) => Number(row.api_version)),
  release: text.describe("Of the product; null if it is not Outrigger's."),
  commit: of(
    text.describe("That it was built from; null if it does not know."),
    (row) => row.commit || null,
  ),
  user: of(
    z.strictObject({ id: z.string(), name: text }).nullable().describe("Who you are to it."),
    ({ user }) => (user ? { id: user.id, name: user.name ?? null } : null),
  ),
}));

/** A database that was restored, as `api restore` prints it. */
export const restorationForm = form(Restoration);

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
);

const figure = z.number().nullable();

/** A machine with accelerators, as `gpus list` prints it. */
export const machineForm = formOf(({ of }: Ways<z.output<typeof InstanceTypeRow>>) => ({
  accelerator: of(z.string(), (row) => row[2]),
  count: of(z.number(), (row) => row[3]),
  memory_gb: of(figure.describe("Of one accelerator."), (row) => row[5]),
  infra: of(text, (row) => infraOf(row[0], row[9] === "*" ? null : row[9])),
  machine: of(text, (row) => row[1]),
  cpus: of(figure, (row) => row[4]),
  host_memory_gb: of(figure, (row) => row[6]),
  usd_per_hour: of(figure, (row) => row[7]),
  spot_usd_per_hour: of(figure, (row) => row[8]),
}));

const GpuUse = z.strictObject({
  infra: z.string(),
  accelerator: z.string(),
  total: figure.describe("Null where machines are made for each cluster."),
  free: figure.describe("Null where nobody knows."),
  used_by: z.array(
    z.strictObject({
      cluster: z.string(),
      user: z.string(),
      count: z.number().describe("Of all its nodes."),
    }),
  ),
});
export type GpuUse = z.output<typeof GpuUse>;

/** Accelerators of one kind in one place, as `gpus` prints them. */
export const gpuUseForm = form(GpuUse);

const PoolStatus = z.enum(["Ready", "Not Ready"]);
type Pool = z.output<typeof SshNodePoolStatus>;

const hostForm = formOf(({ of }: Ways<Pool["hosts"][number]>) => ({
  name: z.string(),
  status: PoolStatus,
  status_reason: of(z.string(), (host) => host.reason),
}));

/** A pool, as `ssh status` prints it. */
export const poolForm = formOf(({ of }: Ways<Pool>) => ({
  name: of(z.string(), (row) => row.pool_name),
  status: PoolStatus,
  status_reason: of(z.string(), (row) => row.reason),
  hosts: of(z.array(hostForm.schema), (row) => row.hosts.map(hostForm.of)),
}));

/** A private key, as `ssh keys` prints it. */
export const keyForm = form(z.strictObject({ name: z.string() }));
