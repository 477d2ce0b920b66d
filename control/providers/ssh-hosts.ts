import { canContain } from "../../common/containers.ts";
import { fail } from "../../common/errors.ts";
import { isWithin } from "../../contract/task/infra.ts";
import type { Host, ReadyHost } from "../ssh-pools/schema.ts";
import { meets, type Need, type Offer, type Planned } from "./provider.ts";

/** What of an offer tells machines apart. */
type Machine = Pick<Offer, "cpus" | "memoryGb" | "accelerators">;

/**
 * What free hosts can do for a cluster: for each pool and kind of accelerator, the machines that as
 * many hosts as it has nodes are at least. On mixed hardware that is what the smallest of them has.
 */
export function offersOf(free: readonly ReadyHost[], need: Need): Offer[] {
  const count = need.nodes ?? 1;
  const left = (need.planned ?? []).reduce(withoutPlanned, free);
  const groups = Map.groupBy(left, (host) =>
    JSON.stringify([host.pool, host.facts.accelerators?.name]),
  );
  const offers = [...groups.values()].flatMap((hosts) => {
    const fitting = hosts.filter((host) => isFit(host, need));
    const sorted = fitting.sort(bySize);
    return sorted.flatMap((host, index) => {
      const together = sorted.slice(index, index + count);
      return together.length < count ? [] : [toOffer(host, leastOf(together), need)];
    });
  });
  const distinct = new Map(offers.map((offer) => [`${offer.infra} ${offer.instanceType}`, offer]));
  return [...distinct.values()];
}

/** Whether a pool has hosts enough that satisfy a need: one that was never seen may. */
export function couldFit(hosts: readonly Host[], need: Need): boolean {
  const { infra = "ssh", nodes = 1 } = need;
  const fits = (host: Host): boolean =>
    host.facts === null
      ? isWithin(`ssh/${host.pool}/${host.name}`, infra)
      : isFit({ ...host, facts: host.facts }, need);
  const pools = Map.groupBy(hosts.filter(fits), ({ pool }) => pool);
  return [...pools.values()].some((fitting) => fitting.length >= nodes);
}

/** The smallest hosts that are at least what was offered; throws `ResourcesUnavailableError`. */
export function chooseHosts(
  free: readonly ReadyHost[],
  cluster: Planned,
  count: number,
): ReadyHost[] {
  const fitting = fittingOf(free, cluster);
  if (fitting.length >= count) return fitting.slice(0, count);
  const { offer } = cluster;
  fail(
    "ResourcesUnavailableError",
    `pool ${offer.region} has ${fitting.length} free hosts with ${nameOf(offer)}, and ${count} are needed`,
  );
}

/** The hosts that are left once a planned cluster has its own. */
function withoutPlanned(free: readonly ReadyHost[], planned: Planned): readonly ReadyHost[] {
  if (planned.offer.provider !== "ssh") return free;
  const taken = fittingOf(free, planned).slice(0, planned.nodes);
  return free.filter((host) => !taken.includes(host));
}

/** The hosts that are at least what was offered, the smallest first. */
function fittingOf(free: readonly ReadyHost[], { offer, nodes, machine }: Planned): ReadyHost[] {
  const { cpus, memoryGb, accelerators } = offer;
  const need: Need = {
    ...{ infra: offer.infra, nodes },
    cpus: { count: cpus, orMore: true },
    memoryGb: { count: memoryGb, orMore: true },
    ...(accelerators !== null && { accelerators }),
    ...(machine.image?.kind === "container" && { container: true }),
    ...(machine.reached && { reached: true }),
  };
  return free.filter((host) => isFit(host, need)).sort(bySize);
}

/** Whether a host is what is needed. Of one that an earlier version looked at it is not known whether it has containers. */
const isFit = (host: Pick<ReadyHost, "pool" | "name" | "facts">, need: Need): boolean =>
  meets(toOffer(host, host.facts, need), need) && canContain(host.facts.containers, need);

/** What a host is offered as: in the name of its pool, unless `ssh/POOL/HOST` is asked for. */
function toOffer(
  { pool, name }: Pick<Host, "pool" | "name">,
  { cpus, memoryGb, accelerators }: Machine,
  { infra = "" }: Need,
): Offer {
  const isNamed = infra.split("/").length > 2;
  return {
    provider: "ssh",
    infra: isNamed ? `ssh/${pool}/${name}` : `ssh/${pool}`,
    region: pool,
    zone: isNamed ? name : null,
    instanceType: nameOf({ cpus, memoryGb, accelerators }),
    cpus,
    memoryGb,
    accelerators,
    dollarsPerHour: 0,
  };
}

/** `8CPU--64GB--H100:8`. */
const nameOf = ({ cpus, memoryGb, accelerators }: Machine): string =>
  [
    `${cpus}CPU`,
    `${memoryGb}GB`,
    ...(accelerators ? [`${accelerators.name}:${accelerators.count}`] : []),
  ].join("--");

/** Accelerators are what is scarce. */
const bySize = (a: ReadyHost, b: ReadyHost): number =>
  (a.facts.accelerators?.count ?? 0) - (b.facts.accelerators?.count ?? 0) ||
  a.facts.cpus - b.facts.cpus ||
  a.facts.memoryGb - b.facts.memoryGb;

/** What all of some hosts with the same kind of accelerator are. */
function leastOf(hosts: readonly ReadyHost[]): Machine {
  const least = (of: (host: ReadyHost) => number) => Math.min(...hosts.map(of));
  const name = hosts[0]?.facts.accelerators?.name;
  const count = least(({ facts }) => facts.accelerators?.count ?? 0);
  return {
    cpus: least(({ facts }) => facts.cpus),
    memoryGb: least(({ facts }) => facts.memoryGb),
    accelerators: name === undefined ? null : { name, count },
  };
}
