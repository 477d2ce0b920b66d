import type { readers as poolReaders } from "../../../contract/task/pool.ts";
import type { readers as probeReaders } from "../../../contract/task/probe.ts";
import type { readers as policyReaders } from "../../../contract/task/replica-policy.ts";
import { isolations, loadBalancingPolicies, type readers } from "../../../contract/task/service.ts";
import { descriptionsOf } from "./page.ts";
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
  text,
  type Written,
  written,
} from "./shapes.ts";

const count = integer(0, 10_000);
const seconds = number({ minimum: 0 });
const positive = number({ exclusiveMinimum: 0 });
const status = amount(/^[1-5]\d\d(?:-[1-5]\d\d)?$/);

const descriptions = (rows: object) => descriptionsOf("`service`", Object.keys(rows));

const probeRows = {
  path: text,
  headers: mapOf(written),
  post_data: { type: ["object", "array", "string"] },
  method: choice("GET", "HEAD", "POST", "PUT"),
  scheme: choice("http", "https"),
  initial_delay_seconds: seconds,
  timeout_seconds: positive,
  interval_seconds: positive,
  success_threshold: integer(1),
  failure_threshold: integer(1),
  failure_window_seconds: positive,
  expected_status: either(status, listOf(status)),
} satisfies Record<Written<typeof probeReaders>, Schema>;

const policy = fields(
  {
    min_replicas: count,
    max_replicas: count,
    target_qps_per_replica: either(positive, mapOf(positive)),
    num_overprovision: count,
    upscale_delay_seconds: seconds,
    downscale_delay_seconds: seconds,
    dynamic_ondemand_fallback: flag,
    base_ondemand_fallback_replicas: count,
    spot_placer: choice("dynamic_fallback"),
  } satisfies Record<Written<typeof policyReaders>, Schema>,
  ["min_replicas"],
);

const serviceRows = {
  readiness_probe: either(text, fields(probeRows, ["path"], descriptions(probeRows))),
  replicas: count,
  replica_policy: policy,
  load_balancing_policy: choice(...loadBalancingPolicies),
  ports: integer(1, 65_535),
  isolation: choice(...isolations),
  tls: fields({ keyfile: text, certfile: text }, ["keyfile", "certfile"]),
  auth: fields({ api_key: written }, ["api_key"]),
  max_surge: count,
  max_unavailable: count,
} satisfies Record<Written<typeof readers, "pool" | "workers">, Schema>;

/** `service` of a task. */
export const serviceFields = fields(serviceRows, [], descriptions(serviceRows));

/** The fields of `pool`. */
export const poolRows = {
  workers: count,
  min_workers: count,
  max_workers: count,
  queue_length_threshold: integer(1),
  upscale_delay_seconds: seconds,
  downscale_delay_seconds: seconds,
} satisfies Record<Written<typeof poolReaders>, Schema>;
