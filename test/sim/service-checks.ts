import { prepare, rows } from "./database.ts";
import { brokenWords } from "./workloads.ts";

interface Service {
  id: string;
  name: string;
  pool: number;
  status: string;
  wanted: string;
  scaling: string;
  goal: number;
}

interface Replica {
  cluster_name: string;
  version: number;
  status: string;
  reason: string;
  wanted: string;
  ended_at: number | null;
  cluster: string | null;
}

const live = `SELECT id, name, pool, status, wanted, scaling, (
    SELECT max(version) FROM service_versions WHERE service_id = services.id AND given_up IS NULL
  ) AS goal FROM services WHERE status <> 'GONE'`;
const theirs = `SELECT cluster_name, version, replicas.status, reason, replicas.wanted, ended_at,
    clusters.status AS cluster
  FROM replicas LEFT JOIN clusters ON clusters.id = replicas.id
  WHERE service_id = ? AND replicas.status <> 'GONE'`;

/** Looks at services and pools that live; a pool asks for so many workers at least. */
export function openServiceChecks(fewestWorkers: number) {
  const services = prepare(live);
  const replicas = prepare(theirs);
  return {
    /** What is not yet as it will be. */
    unsettled: (): string[] =>
      rows<Service>(services).flatMap((service) =>
        unsettledOf(service, rows<Replica>(replicas, service.id), fewestWorkers),
      ),
  };
}

function unsettledOf(
  service: Service,
  replicas: readonly Replica[],
  fewestWorkers: number,
): string[] {
  const { name, status, wanted, goal, scaling } = service;
  if (wanted === "GONE") return [`service ${name} is ${status}, wanted GONE`];
  // A version that nothing can come of is tried for ever where there is none before it.
  if (status === "FAILED" && replicas.some((one) => one.version === goal && isBroken(one)))
    return [];
  const isLive = (one: Replica) => one.wanted === "UP" && one.ended_at === null;
  const leaving = replicas.filter((one) => !isLive(one) && hasCluster(one));
  const unready = replicas.filter(
    (one) => isLive(one) && (one.status !== "READY" || one.version !== goal),
  );
  const count = replicas.filter(isLive).length;
  const { target } = JSON.parse(scaling);
  return [
    ...(status === "READY" || (target === 0 && status === "NO_REPLICA")
      ? []
      : [`service ${name} is ${status}`]),
    ...(service.pool === 1 && target < fewestWorkers ? [`pool ${name} wants only ${target}`] : []),
    ...(count === target ? [] : [`service ${name} has ${count} of ${target} replicas`]),
    ...leaving.map((one) => `replica ${one.cluster_name} (${one.status}) is still there`),
    ...unready.map((one) => `replica ${one.cluster_name} v${one.version} is ${one.status}`),
  ];
}

const hasCluster = ({ cluster }: Replica): boolean => cluster !== null && cluster !== "GONE";

/** Whether a replica failed by its task. */
const isBroken = ({ reason }: Pick<Replica, "reason">): boolean =>
  Object.values(brokenWords).some((words) => reason.includes(words));
