import { meets, type Need, type Offer, usualCounts } from "../provider.ts";

/** Nodes of one kind in a partition. */
export interface NodeKind {
  readonly partition: string;
  readonly isDefault: boolean;
  /** The time limit, as Slurm writes it. */
  readonly limit: string;
  /** How many nodes a job may have, as Slurm writes it: `1-infinite`. */
  readonly jobSize: string;
  readonly count: number;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly gpus: { readonly name: string; readonly count: number } | null;
}

/** What there is: kinds of nodes, addresses by name, and whether nodes are taken to run containers. */
interface Nodes {
  /** Of partitions that take jobs, the default partition first. */
  readonly kinds: NodeKind[];
  readonly addresses: Map<string, string>;
  readonly hasEngine: boolean;
}

/** What `nodesScript` prints. */
export function readNodes(text: string): Nodes {
  const [kinds = "", addresses = "", engine = ""] = text.split(/^--$/m);
  const rows = (part: string) =>
    part
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split("|"));
  return {
    kinds: rows(kinds)
      .filter(([, availability]) => availability === "up")
      .flatMap(readKinds)
      .sort((a, b) => Number(b.isDefault) - Number(a.isDefault)),
    addresses: new Map(rows(addresses).map(([name = "", address = name]) => [name, address])),
    hasEngine: engine.trim() !== "",
  };
}

/** Nodes with GPUs of several types are of several kinds. */
function readKinds([
  partition = "",
  ,
  limit = "",
  count,
  cpus,
  memory,
  gres = "",
  jobSize = "",
]: string[]): NodeKind[] {
  return gpusOf(gres).map((gpus) => ({
    partition: partition.replace(/\*$/, ""),
    isDefault: partition.endsWith("*"),
    ...{ limit, jobSize },
    count: Number(count),
    cpus: Number.parseInt(cpus ?? "", 10),
    memoryMb: Number.parseInt(memory ?? "", 10),
    gpus,
  }));
}

/** The name of accelerators whose type Slurm does not know. */
export const unnamed = "GPU";

/** The GPUs among generic resources by type, `gpu:h100:4(S:0-1),gpu:a100:2`; one null where there are none. */
export function gpusOf(gres: string): NodeKind["gpus"][] {
  const found = gres.matchAll(/(?:^|,)gpu(?::([^:,(]*[^\d:,(][^:,(]*))?:(\d+)/g);
  const gpus = [...found].map(([, name = unnamed, count]) => ({ name, count: Number(count) }));
  return gpus.length === 0 ? [null] : gpus;
}

/** A time limit in seconds; null is without an end. Source: sbatch(1), `--time`. */
export function secondsOfLimit(text: string): number | null {
  const [, days, first, second, third] =
    /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(text.trim()) ?? [];
  if (first === undefined) return null;
  const [one, two, three] = [first, second ?? "0", third ?? "0"].map(Number) as [
    number,
    number,
    number,
  ];
  if (days !== undefined) return Number(days) * 86_400 + one * 3_600 + two * 60 + three;
  return third === undefined ? one * 60 + two : one * 3_600 + two * 60 + three;
}

/** What each kind gives a node of a cluster: what is asked for, and of the rest the same share. */
export function offersOf(site: string, kinds: readonly NodeKind[], need: Need): Offer[] {
  const offers = kinds
    .filter(({ count }) => count >= (need.nodes ?? 1))
    .flatMap((kind) => gpusFor(kind, need).flatMap((gpus) => toOffer(site, kind, need, gpus) ?? []))
    .filter((offer) => meets(offer, need) && isInPartition(offer, need));
  return [...new Map(offers.map((one) => [`${one.infra} ${one.instanceType}`, one])).values()];
}

const isInPartition = ({ accelerators, infra, zone }: Offer, need: Need): boolean =>
  need.cpuPartition === undefined ||
  accelerators !== null ||
  infra === need.infra ||
  need.cpuPartition.split(",").includes(`${zone}`);

/** A task that asks for no GPUs must not hold any; a query without nodes lists all there are. */
function gpusFor({ gpus }: NodeKind, need: Need): NodeKind["gpus"][] {
  if (gpus === null) return [null];
  const { accelerators: wanted, anyAccelerators, nodes } = need;
  const isAsked = anyAccelerators === true || nodes === undefined;
  const counts = wanted ? [Math.ceil(wanted.count)] : isAsked ? usualCounts(gpus.count) : [];
  const some = counts.filter((count) => count <= gpus.count);
  return [...(wanted ? [] : [null]), ...some.map((count) => ({ ...gpus, count }))];
}

function toOffer(
  site: string,
  kind: NodeKind,
  need: Need,
  gpus: NodeKind["gpus"],
): Offer | undefined {
  const gpuShare = gpus === null ? 0 : gpus.count / (kind.gpus?.count ?? 1);
  const usual = Math.max(1, Math.floor(kind.cpus * gpuShare));
  const cpus = need.cpus === undefined ? usual : Math.max(1, Math.ceil(need.cpus.count));
  const kindGb = Math.floor(kind.memoryMb / 1_024);
  const share = Math.max(gpuShare, cpus / kind.cpus);
  const memoryGb = need.memoryGb?.count ?? Math.max(1, Math.floor(kindGb * share));
  if (cpus > kind.cpus || memoryGb * 1_024 > kind.memoryMb) return undefined;
  return {
    provider: "slurm",
    infra: `slurm/${site}/${kind.partition}`,
    region: site,
    zone: kind.partition,
    instanceType: `${cpus}CPU--${memoryGb}GB${gpus ? `--${gpus.name}:${gpus.count}` : ""}`,
    ...{ cpus, memoryGb, accelerators: gpus, dollarsPerHour: 0 },
  };
}
