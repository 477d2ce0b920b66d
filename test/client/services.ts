import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";

/** A replica as `/serve/status` shows it. */
export const aReplica = (id: number, more: Partial<ReplicaInfo> = {}): ReplicaInfo => ({
  replica_id: id,
  name: `chat-${id}`,
  status: "READY",
  version: 1,
  replica_info_version: 1,
  endpoint: `http://127.0.0.1:${20_000 + id}`,
  is_spot: false,
  launched_at: 1_700_000_000,
  handle: null,
  status_reason: "it answers its probe",
  ...more,
});

/** A service of two replicas that are ready. */
export const aService = (more: Partial<ServiceStatusRecord> = {}): ServiceStatusRecord => ({
  name: "chat",
  controller_job_id: null,
  controller_port: null,
  load_balancer_port: 30_001,
  status: "READY",
  uptime: 1_700_000_000,
  policy: "Fixed-size (2 replicas)",
  version: 1,
  active_versions: [1],
  requested_resources_str: "any machine",
  load_balancing_policy: "least_load",
  tls_encrypted: false,
  pool: false,
  controller_pid: null,
  hash: "s1",
  entrypoint: null,
  yaml_content: null,
  pool_yaml: "",
  target_num_replicas: 2,
  replica_info: [aReplica(1), aReplica(2)],
  endpoint: "http://127.0.0.1:30001",
  ...more,
});

/** A pool of two workers, of which one has a job. */
export const aPool = (more: Partial<ServiceStatusRecord> = {}): ServiceStatusRecord =>
  aService({
    ...{ name: "warm", pool: true, endpoint: null, load_balancer_port: null },
    load_balancing_policy: null,
    replica_info: [
      aReplica(1, { name: "warm-1", endpoint: null, used_by: [3] }),
      aReplica(2, { name: "warm-2", endpoint: null, used_by: [] }),
    ],
    ...more,
  });

/** Why replicas fail, with what they printed last. */
export const crash = "run exited with 1; it printed last:\nloading\nout of memory";
