import {
  type HandleRecord,
  pickleHandle,
  pickleResources,
  type ResourcesRecord,
} from "./handles.ts";
import { encodedNull } from "./pickle.ts";

type Json = { readonly [key: string]: unknown };
type Adapt = (value: unknown, clientVersion: number) => unknown;

/**
 * A stored result as a client of this API number reads it. Results are stored as the newest client
 * wants them; a client that named no number gets that form.
 */
export function resultFor(
  name: string,
  value: unknown,
  clientVersion: number | undefined,
): unknown {
  const adapt = adapts[name];
  if (adapt === undefined || value === null || value === undefined) return value ?? null;
  return adapt(value, clientVersion ?? Number.POSITIVE_INFINITY);
}

/** Whether every client reads the result of an operation as it is stored. */
export const isAlike = (name: string): boolean => !Object.hasOwn(adapts, name);

/** Since when clients can read what. Source: the reference's version-aware serializers. */
const since = {
  nodeReady: 25,
  nodeCapacity: 26,
  nodeTaints: 28,
  autostopping: 29,
  slurmErrors: 36,
  plainHandles: 49,
  replicasWithoutHandle: 51,
} as const;

/** Results that differ between clients, by the name of the request without its prefix. */
const adapts: Readonly<Record<string, Adapt>> = {
  status: eachRecord((record, clientVersion) =>
    withStatus(withHandle(record, clientVersion), clientVersion),
  ),
  launch: (value, clientVersion) => withHandle(value as Json, clientVersion),
  exec: (value, clientVersion) => withHandle(value as Json, clientVersion),
  "jobs.launch": (value, clientVersion) => withHandle(value as Json, clientVersion),
  start: (value, clientVersion) => handleFor(value, clientVersion),
  cost_report: eachRecord((record, clientVersion) =>
    withStatus(withResources(record, clientVersion), clientVersion),
  ),
  "serve.status": eachRecord(withReplicas),
  "jobs.pool_status": eachRecord(withReplicas),
  realtime_slurm_gpu_availability: slurmRows,
  kubernetes_node_info: nodeInfo,
};

function eachRecord(change: (record: Json, clientVersion: number) => Json): Adapt {
  return (value, clientVersion) => (value as Json[]).map((record) => change(record, clientVersion));
}

const withHandle = (record: Json, clientVersion: number): Json => ({
  ...record,
  handle: handleFor(record["handle"], clientVersion),
});

/** Every client can unpickle a null; those below API 49 can read nothing else but pickles. */
function handleFor(handle: unknown, clientVersion: number): unknown {
  if (handle === null || handle === undefined) return encodedNull;
  if (clientVersion >= since.plainHandles || typeof handle === "string") return handle;
  return pickleHandle(handle as HandleRecord);
}

function withResources(record: Json, clientVersion: number): Json {
  const { resources } = record;
  if (clientVersion >= since.plainHandles || typeof resources !== "object" || resources === null)
    return record;
  return { ...record, resources: pickleResources(resources as ResourcesRecord) };
}

function withStatus(record: Json, clientVersion: number): Json {
  if (record["status"] !== "AUTOSTOPPING" || clientVersion >= since.autostopping) return record;
  return { ...record, status: "INIT" };
}

function withReplicas(record: Json, clientVersion: number): Json {
  const replicas = (record["replica_info"] ?? []) as Json[];
  const shown = (replica: Json): Json =>
    clientVersion >= since.replicasWithoutHandle
      ? { ...replica, handle: null }
      : withHandle(replica, clientVersion);
  return { ...record, replica_info: replicas.map(shown) };
}

function slurmRows(value: unknown, clientVersion: number): unknown {
  if (clientVersion >= since.slurmErrors) return value;
  return (value as unknown[][])
    .filter((row) => (row[2] ?? null) === null)
    .map((row) => row.slice(0, 2));
}

/** Keys of a node that younger clients know; older ones crash on keys they do not know. */
const youngNodeKeys: Readonly<Record<string, number>> = {
  is_ready: since.nodeReady,
  cpu_count: since.nodeCapacity,
  memory_gb: since.nodeCapacity,
  cpu_free: since.nodeCapacity,
  memory_free_gb: since.nodeCapacity,
  is_cordoned: since.nodeTaints,
  taints: since.nodeTaints,
};

function nodeInfo(value: unknown, clientVersion: number): unknown {
  const nodes = (value as Json)["node_info_dict"] as Record<string, Json>;
  const known = ([key]: [string, unknown]) => clientVersion >= (youngNodeKeys[key] ?? 0);
  const trimmed = Object.entries(nodes).map(([name, node]) => [
    name,
    Object.fromEntries(Object.entries(node).filter(known)),
  ]);
  return { ...(value as Json), node_info_dict: Object.fromEntries(trimmed) };
}
