import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";

/** How many replicas are ready of those that there should be: `1 of 2`. */
export function howMany({
  replica_info: replicas,
  target_num_replicas: target,
}: ServiceStatusRecord): string {
  return `${replicas.filter(isReady).length} of ${target ?? replicas.length}`;
}

/** What the REPLICAS column counts: those that are ready, out of all that have not failed. */
export function readyOutOfLive({ replica_info: replicas }: ServiceStatusRecord): string {
  const live = replicas.filter(({ status }) => !/^(FAILED|UNKNOWN)/.test(status));
  return `${replicas.filter(isReady).length}/${live.length}`;
}

export const isReady = ({ status }: Pick<ReplicaInfo, "status">): boolean => status === "READY";

/** Whether something went wrong with a replica, or it is on its way out. */
export const isAmiss = ({ status }: Pick<ReplicaInfo, "status">): boolean =>
  /^(FAILED|NOT_READY|PREEMPTED|SHUTTING_DOWN)/.test(status);

/**
 * Tells why something is as it is, after what it is about; what a replica printed last stands below,
 * once: whoever printed as much, but for its numbers, is said to have.
 */
export function openReasons(): (about: string, why: Reasoned) => string[] {
  const told = new Set<string>();
  return (about, { status_reason: reason = "" }) => {
    const [first = "", ...printed] = reason.trimEnd().split("\n");
    const words = printed.join("\n").replace(/(0x)?\d[\da-f]*/gi, "#");
    const isTold = words !== "" && told.has(words);
    told.add(words);
    const why = isTold ? first.replace(/it printed last:$/, "it printed the same") : first;
    const below = isTold ? [] : printed.map((line) => `    ${line}`);
    return [why === "" ? about : `${about}: ${why}`, ...below];
  };
}

/** Why something is so, without what was printed last. */
export const inShort = (reason: string): string =>
  reason.split("\n")[0]?.replace(/; it printed last:$/, "") ?? "";

interface Reasoned {
  readonly status_reason?: string | undefined;
}

/** Why a service is so is what there is to say of its replicas. */
const toldByReplicas: readonly ServiceStatusRecord["status"][] = [
  "READY",
  "REPLICA_INIT",
  "FAILED",
];

/** What there is to say of services and replicas that are not as they should be. */
export function tellReasons(services: readonly ServiceStatusRecord[]): string[] {
  const reasonLines = openReasons();
  return services.flatMap((service) => {
    const { name, given_up: givenUp, replica_info: replicas } = service;
    const isTold = toldByReplicas.includes(service.status) || !service.status_reason;
    const own = isTold ? [] : reasonLines(`${name} ${service.status}`, service);
    const old = givenUp
      ? reasonLines(`${name} version ${service.version}`, { status_reason: `given up: ${givenUp}` })
      : [];
    const of = replicas.filter((one) => !isReady(one)).toSorted(byId);
    const member = service.pool ? "worker" : "replica";
    return [...own, ...old, ...reasonsOf(`${name} ${member}`, of, reasonLines)];
  });
}

const byId = (a: ReplicaInfo, b: ReplicaInfo): number => a.replica_id - b.replica_id;

/** Replicas that fare alike for the same reason are told of together. */
function reasonsOf(
  called: string,
  replicas: readonly ReplicaInfo[],
  reasonLines: ReturnType<typeof openReasons>,
): string[] {
  const alike = Map.groupBy(replicas, ({ status, status_reason }) => `${status} ${status_reason}`);
  return [...alike.values()].flatMap((group) => {
    const [first, ...more] = group;
    const ids = group.map(({ replica_id: id }) => id).join(", ");
    const about = `${called}${more.length > 0 ? "s" : ""} ${ids}`;
    return first === undefined ? [] : reasonLines(`${about} ${first.status}`, first);
  });
}
