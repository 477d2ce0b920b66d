import type { FileMount } from "../contract/task/file-mounts.ts";
import { needsOwnPorts } from "../contract/task/fixed-port.ts";
import { isWithin } from "../contract/task/infra.ts";
import type { ResourceRequest } from "../contract/task/resource-request.ts";
import type { Resources } from "../contract/task/resources.ts";
import { schemeOf } from "../contract/task/storage-uri.ts";
import type { Task } from "../contract/task.ts";
import type { Asked, AskedIn } from "./clusters/schema.ts";
import type { Context } from "./context.ts";
import { infraOf } from "./offer-words.ts";
import { meets, type Need, type Offer } from "./providers/provider.ts";

/** What tasks ask of machines, in the words of providers. */

/**
 * What a service's task asks of the machines of each replica, on spot or not; left out where the task
 * makes no difference of it. Of others what the task asks: users reach replicas, and the tasks of a job group one another.
 */
export const askedOfReplica = (
  task: Task,
  workspace: string,
  isSpot?: boolean,
): AskedIn & Pick<Task, "resources"> => ({
  workspace,
  resources: ofKind(task.resources, isSpot),
  nodes: task.nodes,
  ...(isSpot === true && { isSpot }),
  ...(needsOwnPorts(task) && { network: "own" }),
  ...((task.service || task.isInGroup) && { reached: true }),
  ...mountsOn(task),
  ...cpuPartitionOf(task),
});

/** What is no text, providers refuse. */
function cpuPartitionOf({ config }: Pick<Task, "config">): Pick<Need, "cpuPartition"> {
  const { cpu_partition: cpuPartition } = (config["slurm"] ?? {}) as { cpu_partition?: unknown };
  return typeof cpuPartition === "string" ? { cpuPartition } : {};
}

/** Whether nodes must be able to mount buckets for a task, and what the program that does so must be capable of. */
export function mountsOn({ fileMounts }: Pick<Task, "fileMounts">): Pick<Need, "mounts"> {
  const asked = Object.values(fileMounts).flatMap((one) => needsOfMount(one) ?? []);
  const mounts = (["rclone", "writes to S3", true] as const).find((one) => asked.includes(one));
  return mounts === undefined ? {} : { mounts };
}

function needsOfMount(mount: FileMount): Need["mounts"] {
  if (mount.kind !== "storage" || mount.storage.mode === "COPY") return undefined;
  const { mode, options, name, store, sources } = mount.storage;
  if (mode === "MOUNT_CACHED") return "rclone";
  if (options.readOnly) return true;
  const isS3 = name === undefined ? schemeOf(sources[0] ?? "") === "s3" : store === "S3";
  return isS3 ? "writes to S3" : "rclone";
}

/** Where candidates differ in being spot, only those count that are what is asked for. */
function ofKind(resources: Resources, isSpot: boolean | undefined): Resources {
  const candidates = resources.candidates.filter(({ useSpot }) => useSpot === isSpot);
  return candidates.length === 0 ? resources : { ...resources, candidates };
}

/** Whether a task asks for spot machines where there are any; `use_spot` has no effect elsewhere. */
export async function asksForSpot(
  { providers }: Pick<Context, "providers">,
  { candidates }: Pick<Resources, "candidates">,
): Promise<boolean> {
  const clouds = candidates.flatMap(({ useSpot, cloud }) => (useSpot ? [cloud] : []));
  const asked = providers.filter(({ name }) =>
    clouds.some((cloud) => cloud === undefined || isWithin(name, cloud)),
  );
  return (await Promise.all(asked.map((one) => one.hasSpot?.()))).includes(true);
}

/** On spot, where each candidate of a task asks for that and there is any. */
export const spotOf = async (
  ctx: Pick<Context, "providers">,
  resources: Resources,
): Promise<Pick<Need, "isSpot">> =>
  resources.candidates.every(({ useSpot }) => useSpot) && (await asksForSpot(ctx, resources))
    ? { isSpot: true }
    : {};

/** What a launch of a task asks for. */
export const askedOfLaunch = async (
  ctx: Pick<Context, "providers">,
  task: Task,
  workspace: string,
): Promise<AskedIn & Task> => ({
  ...{
    ...task,
    ...mountsOn(task),
    ...cpuPartitionOf(task),
    ...(await spotOf(ctx, task.resources)),
  },
  workspace,
});

/** What providers are asked for, for each candidate. */
export const needsOf = (asked: Asked): Need[] =>
  asked.resources.candidates.map((candidate) => needOf(asked, candidate));

/** What providers are asked for a candidate of all nodes together. */
export const needOf = (
  {
    nodes,
    network,
    isSpot,
    mounts,
    cpuPartition,
    planned,
    reached,
  }: Omit<Asked, "resources" | "near">,
  candidate: ResourceRequest,
): Need => ({
  ...machineOf(candidate),
  nodes,
  ...(network && { network }),
  ...(isSpot && { isSpot }),
  ...(mounts && { mounts }),
  ...(cpuPartition && { cpuPartition }),
  ...(planned && { planned }),
  ...(reached && { reached }),
});

function machineOf(candidate: ResourceRequest): Need {
  const { cpus, memory, image, ports } = candidate;
  const infra = infraOf(candidate);
  const accelerators = acceleratorsOf(candidate);
  return {
    ...(infra !== undefined && { infra }),
    ...(cpus && { cpus: { count: cpus.count, orMore: cpus.orMore } }),
    ...(memory && { memoryGb: { count: memory.gb, orMore: memory.orMore } }),
    ...(accelerators && { accelerators }),
    ...(image?.kind === "container" && { container: true }),
    ...(ports.length > 0 && { reached: true }),
  };
}

function acceleratorsOf({ accelerator }: ResourceRequest): Need["accelerators"] {
  if (accelerator === undefined) return undefined;
  if ("name" in accelerator) return { name: accelerator.name, count: accelerator.count };
  const { gb, orMore, manufacturer, count } = accelerator;
  return { memoryGb: { count: gb, orMore }, count, ...(manufacturer && { manufacturer }) };
}

/** Whether a node of an offer costs no more than a candidate allows. */
export const isWithinLimit = (
  { maxDollarsPerHour = Number.POSITIVE_INFINITY }: ResourceRequest,
  { dollarsPerHour }: Offer,
): boolean => dollarsPerHour <= maxDollarsPerHour;

/** The first candidate of a task that machines of this offer satisfy; undefined when none is. */
export const candidateOf = (
  { candidates }: Pick<Resources, "candidates">,
  offer: Offer,
): ResourceRequest | undefined =>
  candidates.find(
    (candidate) =>
      isWithinLimit(candidate, offer) &&
      meets(offer, { ...machineOf(candidate), ...(offer.isSpot && { isSpot: true }) }),
  );
