import { fail } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import type { ClusterRef } from "../provider.ts";
import { type NodeKind, secondsOfLimit, unnamed } from "./offers.ts";
import type { Label } from "./queue.ts";

/** How long before its end an allocation without hooks says so: jobs write a checkpoint meanwhile. */
const leastNoticeSeconds = 60;
/** What an agent keeps for logs, and a notice may be late. Source: sbatch(1), `--signal`. */
const reserveSeconds = 15;

/** What control decides itself. */
const reserved = [
  ...[
    "array",
    "chdir",
    "comment",
    "export",
    "gres",
    "job-name",
    "nodes",
    "ntasks",
    "ntasks-per-node",
  ],
  ...["output", "error", "input", "parsable", "requeue", "no-requeue", "signal", "wrap", "wait"],
  ...["cpus-per-task", "mem", "clusters", "test-only", "uid", "gid"],
];
/** sbatch(1) takes the beginning of a name for the whole. */
const isReserved = (name: string): boolean => reserved.some((one) => one.startsWith(name));

/** The name of a cluster's job. */
export const jobNameOf = ({ id }: { readonly id: string }): string => `${product.word}-${id}`;

/** What options follow from. */
export type AskedOfSlurm = Pick<ClusterRef, "nodes" | "offer" | "machine">;

/** The options of sbatch(1) for a cluster; throws `ResourcesUnavailableError` for what cannot be. */
export function optionsOf(
  cluster: AskedOfSlurm & Pick<ClusterRef, "id" | "name">,
  control: string,
  kinds: readonly NodeKind[],
): string[] {
  const { id, name, nodes, offer, machine } = cluster;
  const partition = partitionOf(cluster);
  const own: Record<string, string> = { partition, ...ownOptions(machine.slurm) };
  const noticeSeconds = Math.max(leastNoticeSeconds, (machine.graceSeconds ?? 0) + reserveSeconds);
  checkLimit(own["time"], partition, noticeSeconds, machine.graceSeconds, kinds);
  const label: Label = { control, id, cluster: { name, nodes, offer } };
  const { accelerators: gpus } = offer;
  const type = gpus === null || gpus.name === unnamed ? "" : `${gpus.name}:`;
  return [
    `--comment=${JSON.stringify(label)}`,
    `--nodes=${nodes}`,
    "--ntasks-per-node=1",
    `--cpus-per-task=${offer.cpus}`,
    `--mem=${Math.floor(offer.memoryGb * 1_024)}M`,
    ...(gpus === null ? [] : [`--gres=gpu:${type}${gpus.count}`]),
    `--signal=B:USR1@${noticeSeconds}`,
    // Another allocation is a decision of control, which also knows what went on.
    "--no-requeue",
    "--export=ALL",
    "--output=slurm.log",
    ...Object.entries(own).map(([key, value]) => (value === "" ? `--${key}` : `--${key}=${value}`)),
  ];
}

/** The partitions that a job may go to, `short,long`: what the task says, else the one of its offer. */
export function partitionOf({ offer, machine }: AskedOfSlurm): string {
  const { cpu_partition: ofCpus = "" } = (machine.slurm ?? {}) as { cpu_partition?: unknown };
  if (typeof ofCpus !== "string") refuse("config.slurm.cpu_partition must be text, such as cpu");
  return ownOptions(machine.slurm)["partition"] ?? `${offer.zone}`;
}

/** `config.slurm.sbatch_options` of the task; an option without a value is true or null. */
function ownOptions(config: unknown): Record<string, string> {
  const given = (config as { sbatch_options?: unknown } | undefined)?.sbatch_options ?? {};
  if (typeof given !== "object" || Array.isArray(given))
    refuse("config.slurm.sbatch_options must be a mapping, such as {account: physics}");
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => {
      const name = key.replaceAll("_", "-");
      if (!/^[a-z][a-z-]+$/.test(name) || isReserved(name))
        refuse(
          `config.slurm.sbatch_options: \`${key}\` cannot be set; the task's resources say it`,
        );
      return [name, value === true || value === null ? "" : String(value)];
    }),
  );
}

/** One kind of nodes of each of these partitions, `short,long`. */
export const kindsIn = (partitions: string, kinds: readonly NodeKind[]): NodeKind[] =>
  partitions.split(",").flatMap((name) => kinds.find(({ partition }) => partition === name) ?? []);

function checkLimit(
  time: string | undefined,
  partition: string,
  noticeSeconds: number,
  hookSeconds: number | undefined,
  kinds: readonly NodeKind[],
): void {
  const limits =
    time === undefined
      ? kindsIn(partition, kinds).map((kind) => ({ of: `partition ${kind.partition}`, ...kind }))
      : [{ of: "sbatch_options.time", limit: time }];
  const [shortest] = limits
    .map(({ of, limit }) => ({ of, seconds: secondsOfLimit(limit) ?? Number.POSITIVE_INFINITY }))
    .sort((a, b) => a.seconds - b.seconds);
  if (shortest === undefined || shortest.seconds > noticeSeconds) return;
  const needed = hookSeconds
    ? `its preemption hooks may take ${hookSeconds} s and ${reserveSeconds} s are reserved`
    : `jobs are told ${noticeSeconds} s before the end`;
  refuse(
    `the time limit of ${shortest.seconds} s (${shortest.of}) ` +
      `is too short: ${needed}; raise the limit, or lower the hooks' \`timeout\``,
  );
}

const refuse = (message: string): never => fail("ResourcesUnavailableError", message);
