import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ClusterJobRecord,
  ClusterStatusRecord,
  CostReportRecord,
} from "../../../contract/records/clusters.ts";
import { RequestPayload } from "../../../contract/records/requests.ts";
import {
  type Showing,
  toCostRecord,
  toHandle,
  toJobRecord,
  toStatusRecord,
} from "../../../control/clusters/view.ts";
import type { EndedRequest } from "../../../control/requests/schema.ts";
import { pickleHandle, pickleResources, poolResources } from "../../../control/wire/handles.ts";
import { encodedNull } from "../../../control/wire/pickle.ts";
import { fetchedRequest, listedRequest } from "../../../control/wire/records.ts";
import { resultFor } from "../../../control/wire/results.ts";
import { aCluster, aLifecycle } from "../../helpers/clusters.ts";
import { aRun } from "../../helpers/lifecycles.ts";
import { askPython, noPython } from "./python.ts";

const handle = toHandle(aCluster({ nodes: 2, addresses: ["10.0.0.1", "10.0.0.2"] }));

const recordOf = (cluster = aCluster(), showing: Partial<Showing> = {}) =>
  toStatusRecord(cluster, { summary: false, handle: true, lifecycles: [], hooks: [], ...showing });

const aRequest = (change: Partial<EndedRequest> = {}): EndedRequest => ({
  id: "r1",
  name: "launch",
  status: "SUCCEEDED",
  queue: "long",
  user: { id: "u1", name: "ann" },
  clusterName: "demo",
  clientApi: 49,
  workspace: "default",
  statusNote: null,
  createdAt: 1_700_000_000_500,
  finishedAt: null,
  returnValue: "null",
  failure: null,
  ...change,
});
const reader = { clientApi: 49, program: "sky" };

const clientModules = {
  "sky.backends.cloud_vm_ray_backend": "class CloudVmRayResourceHandle: pass",
  "sky.resources":
    "class Resources:\n  @classmethod\n  def _from_yaml_config_single(cls, d): return ('resources', d)",
};

test("a cluster leaves out what is not known, but not the keys that are always there", () => {
  const record = recordOf(aCluster({ launchedAt: 1_700_000_000_999 }), { handle: false });

  assert.deepEqual(ClusterStatusRecord.parse(record), record);
  assert.equal(record.launched_at, 1_700_000_000);
  assert.equal(record.handle, encodedNull);
  assert.deepEqual([record.status_updated_at, record.labels], [0, {}]);
  assert.deepEqual([record.autostop, record.to_down], [-1, false]);
  assert.equal(record.cloud, "fake");
  assert.ok(!("region" in record));
});

test("a cluster tells of its idle timer and of the lifecycle that is under way", () => {
  const idle = { idleSince: 1_700_000_000_500, stopsAt: 1_700_000_600_500, keptAliveBy: [] };
  const runs = [
    aRun({ status: "FAILED", exitCode: 3, startedAt: 1_000, endedAt: 2_200 }),
    aRun({ index: 2, startedAt: 3_000 }),
  ];
  const lifecycle = aLifecycle({ startedAt: 1_000, deadlineAt: 61_000, hooks: 3, runs });
  const autostop = { idleMinutes: 10, down: false, waitFor: "jobs", hook: null } as const;
  const seen = { ...autostop, idleMs: 600_000, ...idle };
  const record = recordOf(aCluster({ autostop }), { idle: seen, lifecycles: [lifecycle] });

  assert.deepEqual(ClusterStatusRecord.parse(record), record);
  assert.deepEqual(record.idle, {
    since: 1_700_000_000,
    stops_at: 1_700_000_600,
    kept_alive_by: [],
  });
  const first = { index: 0, event: "stop", status: "FAILED", exit_code: 3, reason: null };
  assert.deepEqual(record.lifecycle, {
    ...{ id: "l1", action: "stop", cause: "user", because: "stop by ada", phase: "HOOKS", node: 0 },
    ...{ started_at: 1, deadline_at: 61 },
    hook: { index: 2, of: 3, started_at: 3, timeout: 60 },
    hooks_run: [{ ...first, seconds: 1.2 }],
  });
  const quiet = recordOf();
  assert.ok(!("idle" in quiet) && !("lifecycle" in quiet));
});

test("young clients read handles as JSON, older ones as a pickle", () => {
  const launched = { job_id: 1, handle };

  assert.deepEqual(resultFor("launch", launched, 49), launched);
  assert.deepEqual(resultFor("launch", launched, undefined), launched);
  assert.deepEqual(resultFor("launch", launched, 48), { job_id: 1, handle: pickleHandle(handle) });
  assert.deepEqual(resultFor("exec", { job_id: 1, handle: null }, 24), {
    job_id: 1,
    handle: encodedNull,
  });
  assert.equal(resultFor("start", handle, 42), pickleHandle(handle));
});

test("a machine of ours is told as one of a pool", () => {
  const machine = { infra: "local", cpus: 2, memoryGb: 24, accelerators: null };
  const accelerators = { name: "H100", count: 8 };

  assert.deepEqual(poolResources(machine), { infra: "ssh/local", instance_type: "2CPU--24GB" });
  assert.deepEqual(poolResources({ ...machine, accelerators }), {
    infra: "ssh/local",
    instance_type: "2CPU--24GB--H100:8",
  });
  const pod = poolResources({ ...machine, infra: "kubernetes/lab" });
  assert.equal(pod["infra"], "kubernetes/lab");
});

test("AUTOSTOPPING is INIT for clients that do not know it", () => {
  const records = [recordOf(aCluster({ status: "AUTOSTOPPING" }))];
  const shown = (clientVersion: number) =>
    (resultFor("status", records, clientVersion) as ClusterStatusRecord[]).map(
      ({ status }) => status,
    );

  assert.deepEqual(shown(28), ["INIT"]);
  assert.deepEqual(shown(29), ["AUTOSTOPPING"]);
});

test("other results lose what old clients would crash on", () => {
  const rows = [
    ["a", [], null],
    ["b", [], "unreachable"],
  ];
  const node = { name: "n1", is_ready: true, cpu_count: 4, taints: [] };
  const nodes = { node_info_dict: { n1: node }, hint: "" };
  const nodeFor = (clientVersion: number) =>
    resultFor("kubernetes_node_info", nodes, clientVersion);

  assert.deepEqual(resultFor("realtime_slurm_gpu_availability", rows, 35), [["a", []]]);
  assert.deepEqual(resultFor("realtime_slurm_gpu_availability", rows, 36), rows);
  assert.deepEqual(nodeFor(24), { node_info_dict: { n1: { name: "n1" } }, hint: "" });
  assert.deepEqual(nodeFor(49), nodes);
  assert.deepEqual(resultFor("queue", [{ job_id: 1 }], 24), [{ job_id: 1 }]);
});

test("a replica has no handle for clients that read its machine from the record", () => {
  const services = [{ name: "s", replica_info: [{ replica_id: 1, handle: encodedNull }] }];
  const handleFor = (clientVersion: number) =>
    (resultFor("serve.status", services, clientVersion) as typeof services)[0]?.replica_info[0];

  assert.deepEqual(handleFor(50), { replica_id: 1, handle: encodedNull });
  assert.deepEqual(handleFor(51), { replica_id: 1, handle: null });
});

test("a replica's handle may be missing for every client", () => {
  const services = [{ name: "s", replica_info: [{ replica_id: 1, handle: null }] }];

  assert.deepEqual(resultFor("serve.status", services, 24), [
    { name: "s", replica_info: [{ replica_id: 1, handle: encodedNull }] },
  ]);
});

test("a fetched request is double-encoded JSON and fits the contract", () => {
  const returnValue = JSON.stringify({ job_id: 1, handle });
  const record = fetchedRequest(aRequest({ returnValue }), reader);

  assert.deepEqual(RequestPayload.parse(record), record);
  assert.equal(record.name, "sky.launch");
  assert.equal(record.created_at, 1_700_000_000.5);
  assert.deepEqual([record.entrypoint, record.request_body], [encodedNull, encodedNull]);
  assert.deepEqual(JSON.parse(record.return_value), { job_id: 1, handle });
  assert.equal(record.error, "null");
});

test("a fetched request that failed carries its error", () => {
  const failure = { type: "ClusterDoesNotExist", message: "no cluster demo", details: {} };
  const record = fetchedRequest(aRequest({ status: "FAILED", failure }), reader);

  assert.equal(JSON.parse(record.error).type, "ClusterDoesNotExist");
  assert.equal(record.return_value, "null");
});

test("a listed request is readable and keeps its outcome to itself", () => {
  const record = listedRequest(aRequest(), null);

  assert.deepEqual(RequestPayload.parse(record), record);
  assert.equal(record.request_body, "{}");
  assert.equal(record.return_value, "null");
});

test("a job keeps the fractions of its seconds", () => {
  const record = toJobRecord({
    ...{ id: 3, submissionId: "r1", name: "-", userId: "u1", userName: "ann", nodes: 1 },
    ...{ status: "RUNNING", exitCode: null, resources: "1x[CPU:1]", logPath: "~/logs/3" },
    ...{ submittedAt: 1500, startedAt: 2000, endedAt: null, metadata: { a: 1 } },
    reason: "rank 1: run exited with 9",
  });

  assert.deepEqual(ClusterJobRecord.parse(record), record);
  assert.deepEqual([record.submitted_at, record.start_at, record.end_at], [1.5, 2, null]);
  assert.deepEqual(record.metadata, { a: 1, reason: "rank 1: run exited with 9" });
});

test("a cost adds up what was used, and an open interval ends now", () => {
  const cluster = aCluster({ status: "GONE", nodes: 2 });
  const ran: [number, number | null][] = [
    [0, 1_800_000],
    [3_600_000, null],
  ];
  const now = new Date(5_400_000);
  const record = toCostRecord(cluster, ran, now, false);

  assert.deepEqual(CostReportRecord.parse(record), record);
  assert.deepEqual([record.duration, record.total_cost, record.status], [3600, 4, null]);
  assert.deepEqual(record.usage_intervals, [
    [0, 1800],
    [3600, null],
  ]);
  assert.equal(toCostRecord(cluster, ran, now, true).usage_intervals, undefined);
});

test("Python makes the client's own handle of the pickle", { skip: noPython }, () => {
  const state = askPython(
    pickleHandle({ ...handle, launched_resources: { infra: "k8s/here", cpus: "2" } }),
    "type(value).__name__, sorted(value.__dict__.items())",
    clientModules,
  );

  assert.match(state, /^\('CloudVmRayResourceHandle', /);
  assert.match(state, /\('_version', 12\)/);
  assert.match(state, /\[\('10.0.0.1', '10.0.0.1'\), \('10.0.0.2', '10.0.0.2'\)\]/);
  assert.match(state, /\('resources', {'infra': 'k8s\/here', 'cpus': '2'}\)/);
});

test("Python makes the client's own resources of the pickle", { skip: noPython }, () => {
  const shown = askPython(pickleResources({ infra: "k8s" }), "value", clientModules);

  assert.equal(shown, "('resources', {'infra': 'k8s'})");
});
