import type { readers as autostopReaders } from "../../../contract/task/autostop.ts";
import type { readers as recoveryReaders } from "../../../contract/task/job-recovery.ts";
import { type readers as diskReaders, diskTiers } from "../../../contract/task/network-disks.ts";
import type {
  acceleratorArgReaders,
  resourceReaders,
} from "../../../contract/task/resource-fields.ts";
import {
  amount,
  choice,
  either,
  fields,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  type Schema,
  script,
  text,
  type Written,
} from "./shapes.ts";

export const size = /^\s*\d{1,15}(?:\.\d{1,15})?\s*(?:[kKmMgGtTpP](?:[bB]|[iI][bB]?)?)?\s*$/;
const sizeOrMore = new RegExp(size.source.replace(/\$$/, "\\+?$"));
const accelerator = { type: "string" };

const accelerators: Schema = either(accelerator, listOf(accelerator), {
  type: "object",
  minProperties: 1,
});
const port = amount(/^\d{1,5}(?:\s*-\s*\d{1,5})?$/);
const strategies = choice("FAILOVER", "EAGER_NEXT_REGION", "none");
const exitCode = integer(0, 255);

const recovery = either(
  strategies,
  fields({
    strategy: strategies,
    max_restarts_on_errors: integer(0),
    recover_on_exit_codes: either(exitCode, listOf(exitCode)),
    lease: amount(/^\s*\d{1,9}\s*[smhdwSMHDW]?\s*$/),
  } satisfies Record<Written<typeof recoveryReaders>, Schema>),
);

const autostop = either(
  { type: ["boolean", "integer"] },
  { type: "string", pattern: "^\\s*\\d{1,9}\\s*[smhdwSMHDW]?\\s*$" },
  fields({
    idle_minutes: integer(0),
    down: flag,
    wait_for: choice("jobs_and_ssh", "jobs", "none"),
    hook: script,
    hook_timeout: integer(1, 86_400),
  } satisfies Record<Written<typeof autostopReaders>, Schema>),
);

const disk = fields(
  {
    path: text,
    name: text,
    disk_size: amount(size),
    disk_tier: choice(...diskTiers),
    auto_delete: flag,
    storage_type: choice("network", "instance"),
    attach_mode: choice("read_only", "read_write"),
  } satisfies Record<Written<typeof diskReaders>, Schema>,
  ["path"],
);

const candidates: Schema = {
  type: "array",
  minItems: 1,
  items: { $ref: "#/definitions/resources" },
};

/** The fields of `resources`. A field that is read and has no row here does not compile. */
export const resourceRows = {
  infra: text,
  cloud: text,
  region: text,
  zone: text,
  instance_type: text,
  cpus: amount(/^\s*\d{1,15}(?:\.\d{1,15})?\+?\s*$/),
  memory: amount(sizeOrMore),
  accelerators,
  gpus: accelerators,
  accelerator_args: fields({
    runtime_version: text,
    tpu_name: text,
    tpu_vm: flag,
    gcp_queued_resource: flag,
  } satisfies Record<Written<typeof acceleratorArgReaders>, Schema>),
  use_spot: flag,
  job_recovery: recovery,
  spot_recovery: recovery,
  disk_size: amount(size),
  ephemeral_storage: amount(size),
  disk_tier: choice(...diskTiers, "none"),
  network_tier: choice("standard", "best"),
  local_disk: { type: ["string", "number"] },
  ports: either(port, listOf(port)),
  labels: mapOf(text),
  image_id: either(text, mapOf(text)),
  max_hourly_cost: number({ exclusiveMinimum: 0 }),
  priority: integer(-1000, 1000),
  priority_class: text,
  autostop,
  volumes: listOf(disk),
  any_of: candidates,
  ordered: candidates,
} satisfies Record<Written<typeof resourceReaders, "hooks"> | "any_of" | "ordered", Schema>;
