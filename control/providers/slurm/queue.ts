import type { ClusterRef, NodeState } from "../provider.ts";

/** What the comment of a job says of the cluster that it is. */
export interface Label {
  readonly control: string;
  readonly id: string;
  readonly cluster: Pick<ClusterRef, "name" | "nodes" | "offer">;
}

/** A job of ours. */
export interface Allocation extends Label {
  readonly jobId: number;
  readonly state: string;
  /** Why it waits, for people. */
  readonly reason: string;
  /** It asks for what it may never have. */
  readonly isHopeless: boolean;
  /** Names of its nodes by rank; empty while it waits. */
  readonly hosts: readonly string[];
}

/** The latest job of each cluster, by the cluster's id. */
export function readQueue(text: string, control: string): Map<string, Allocation> {
  const [ours = "", waiting = ""] = text.split(/^--$/m);
  const ahead = countAhead(linesOf(waiting));
  const found = linesOf(ours)
    .flatMap((line) => readJob(line, ahead) ?? [])
    .filter((job) => job.control === control)
    .sort((a, b) => a.jobId - b.jobId);
  return new Map(found.map((job) => [job.id, job]));
}

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line.includes("|"));

type Ahead = (partition: string, priority: number) => number;

function readJob(line: string, ahead: Ahead): Allocation | undefined {
  const [id, state = "", why = "", start, hosts = "", partition = "", priority, ...rest] =
    line.split("|");
  const label = readLabel(rest.join("|"));
  if (label === undefined) return undefined;
  const isHopeless = state === "PENDING" && hopeless.test(why);
  const turn = [
    `position ${ahead(partition, Number(priority)) + 1} in partition ${partition}`,
    ...(start?.includes("T") ? [`estimated start ${start.slice(0, 15)}0`] : []),
  ];
  const reason = [`Slurm job ${id}: ${why}`, ...(isHopeless ? [] : turn)].join(", ");
  return { ...label, jobId: Number(id), state, reason, isHopeless, hosts: expandHosts(hosts) };
}

/** Where limits are not enforced at submission, Slurm has a job wait that it will not start. Source: squeue(1). */
const hopeless =
  /^(PartitionTimeLimit|PartitionNodeLimit|PartitionConfig|BadConstraints|Invalid(Account|QOS)|(Account|QOS)NotAllowed|\w+PerJob)$|can't use this partition/;

function readLabel(comment: string): Label | undefined {
  try {
    const label = JSON.parse(comment);
    return typeof label?.cluster?.name === "string" ? label : undefined;
  } catch {
    return undefined;
  }
}

/** How many jobs of a partition have a higher priority than one. */
function countAhead(lines: readonly string[]): Ahead {
  const jobs = lines.map((line) => line.split("|"));
  return (partition, priority) =>
    jobs.filter(([, of, its]) => of === partition && Number(its) > priority).length;
}

/** `n[1-2,04],gpu7` in full. Source: scontrol(1), show hostnames. */
export function expandHosts(list: string): string[] {
  return (list.match(/[^,[]+(\[[^\]]*\])?[^,[]*/g) ?? []).flatMap((part) => {
    const [, before = "", ranges, after = ""] = /^([^[]*)\[([^\]]*)\](.*)$/.exec(part) ?? [];
    if (ranges === undefined) return [part];
    return ranges.split(",").flatMap((range) => {
      const [first = "", last = first] = range.split("-");
      const count = Number(last) - Number(first) + 1;
      return Array.from(
        { length: count },
        (_, at) => `${before}${String(Number(first) + at).padStart(first.length, "0")}${after}`,
      );
    });
  });
}

const running = ["RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"];
const overWords: Readonly<Record<string, string>> = {
  CANCELLED: "was cancelled in Slurm",
  TIMEOUT: "reached its time limit",
  DEADLINE: "reached its deadline",
  OUT_OF_MEMORY: "ran out of memory",
  FAILED: "failed, see slurm.log in its folder",
};
/** The machines are lost, as anywhere else. */
const lost = ["PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "REVOKED"];

/** What a node of an allocation is; undefined where it is lost. An allocation that ends is waited for. */
export function stateOf({
  state,
  reason,
  jobId,
}: Allocation): Pick<NodeState, "state" | "reason" | "over"> | undefined {
  if (lost.includes(state)) return undefined;
  if (running.includes(state)) return { state: "running" };
  if (state === "COMPLETED") return { state: "stopped" };
  if (state === "COMPLETING") return { state: "pending", reason: `Slurm ends job ${jobId}` };
  const over = overWords[state];
  if (over === undefined) return { state: "pending", reason };
  return { state: "stopped", over: `its allocation ${over} (job ${jobId})` };
}

/** Whether a job holds nodes, or will. */
export const isOpen = (job: Allocation): boolean =>
  ["running", "pending"].includes(stateOf(job)?.state ?? "");
