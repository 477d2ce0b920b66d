import { count } from "../../common/count.ts";
import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";
import { type ListedCluster, resourcesText } from "../clusters/schema.ts";
import type { HeldTask } from "../jobs/work-store.ts";
import { describeNeeds } from "../offer-words.ts";
import { seconds } from "../wire/fields.ts";
import { encodedNull } from "../wire/pickle.ts";
import { memberOf } from "./decisions/scale.ts";
import { shownTask } from "./keys.ts";
import { strayOf } from "./replicas/stray-ports.ts";
import { placeOf, type Replica, type Seen, type Service, type Version } from "./schema.ts";
import type { OpenVersion } from "./versions/task.ts";

/** Where clients reach a service. */
export const endpointOf = (service: Pick<Service, "host" | "port">, hasTls: boolean): string =>
  `${hasTls ? "https" : "http"}://${placeOf(service)}`;

/** What there is to show of a service. */
export interface ServiceShown {
  readonly service: Service;
  readonly versions: readonly Version[];
  readonly replicas: readonly Replica[];
  /** The live ones, by id. */
  readonly clusters: ReadonlyMap<string, ListedCluster>;
  /** Its newest version. */
  readonly newest: OpenVersion;
  /** The version that it goes by: another one where the newest was given up. */
  readonly goal: OpenVersion;
  /** Asks in vain for spot machines: no provider has any. */
  readonly isWithoutSpot: boolean;
  /** What its balancer sees. */
  readonly seen: Seen;
  /** The command line that made that. */
  readonly command: string | null;
  /** The jobs that its workers have. */
  readonly held: readonly Pick<HeldTask, "jobId" | "clusterId">[];
}

/** A service as `/serve/status` shows it. */
export function toServiceRecord(shown: ServiceShown): ServiceStatusRecord {
  const { service, versions, replicas, newest, goal, command } = shown;
  const givenUp = versions.at(-1)?.givenUp ?? null;
  const { status, scaling } = service;
  if (status === "GONE") throw new Error("a service that is gone has no record");
  const { spec, task } = goal;
  return {
    name: service.name,
    controller_job_id: null,
    controller_port: null,
    load_balancer_port: service.isPool ? null : service.port,
    status,
    status_reason: service.problem?.message ?? service.reason,
    uptime: seconds(service.readyAt),
    policy: policyOf(goal, scaling),
    version: service.version,
    ...(givenUp !== null && { given_up: givenUp }),
    active_versions: [...new Set(replicas.filter(isReady).map(({ version }) => version))].toSorted(
      (a, b) => a - b,
    ),
    requested_resources_str: describeNeeds(task.resources),
    load_balancing_policy: service.isPool ? null : spec.loadBalancing,
    tls_encrypted: spec.tls !== undefined,
    pool: service.isPool,
    controller_pid: null,
    hash: service.id,
    entrypoint: command,
    yaml_content: shownTask(newest),
    pool_yaml: service.isPool ? shownTask(newest) : "",
    target_num_replicas: scaling.target,
    max_replicas: spec.replicas.max,
    target_reason: targetReason(shown),
    replica_info: replicas.flatMap((one) =>
      one.status === "GONE" ? [] : [toReplicaInfo(one, one.status, shown)],
    ),
    endpoint: service.isPool ? null : endpointOf(service, spec.tls !== undefined),
  };
}

const isReady = ({ status }: Replica): boolean => status === "READY";

/** How it scales, and why it has as many replicas as it has. */
function policyOf({ spec }: OpenVersion, { target, reason }: Service["scaling"]): string {
  const { min, max } = spec.replicas;
  const member = memberOf(spec.replicas);
  if (min === max) return `Fixed-size (${count(min, member)})`;
  return `Autoscaling from ${min} to ${max} ${member}s; ${target} now: ${reason}`;
}

const targetReason = ({ service: { scaling }, isWithoutSpot }: ServiceShown): string =>
  isWithoutSpot
    ? `${scaling.reason}; none on a spot machine, as no provider has any`
    : scaling.reason;

function toReplicaInfo(
  replica: Replica,
  status: ReplicaInfo["status"],
  { service, seen, clusters, held }: ServiceShown,
): ReplicaInfo {
  const { number, clusterName, version, host, port, isSpot, createdAt, endedAt } = replica;
  const isThere = host !== null && port !== null && endedAt === null;
  const hint = status === "STARTING" ? strayOf(replica.reason) : undefined;
  return {
    replica_id: number,
    name: clusterName,
    status,
    version,
    replica_info_version: 1,
    endpoint: isThere ? `http://${placeOf({ host, port })}` : null,
    is_spot: isSpot,
    launched_at: seconds(createdAt),
    handle: encodedNull,
    status_reason: reasonOf(replica, seen),
    ...(hint !== undefined && { hint }),
    ...(service.isPool && { used_by: jobsOn(held, replica) }),
    ...machineOf(clusters.get(replica.clusterId ?? "")),
  };
}

const jobsOn = (held: ServiceShown["held"], { clusterId }: Replica): number[] => [
  ...new Set(held.filter((one) => one.clusterId === clusterId).map(({ jobId }) => jobId)),
];

/** What its cluster is made of, while there is one. */
function machineOf(cluster: ListedCluster | undefined) {
  if (cluster === undefined) return undefined;
  const { provider: cloud, region } = cluster.offer;
  const resources = resourcesText(cluster);
  return {
    cloud,
    ...(region !== null && { region }),
    infra: [cloud, ...(region === null ? [] : [region])].join("/"),
    resources_str: resources,
    resources_str_full: resources,
  };
}

/** Why it has its status, and what its probe says where that is what it waits for. */
function reasonOf({ number, status, reason }: Replica, seen: Seen): string {
  const problem = seen?.replicas.find(({ id }) => id === number)?.problem ?? null;
  return status === "STARTING" && problem !== null ? `${reason}; last probe: ${problem}` : reason;
}
