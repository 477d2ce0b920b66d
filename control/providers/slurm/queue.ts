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
  /** It ran before, and waits to begin anew. */
  readonly isRequeued: boolean;
  /** Names of its nodes by rank; empty while it waits. */
  readonly hosts: readonly string[];
}

/** The latest job of each cluster, by the cluster's id. */
export function readQueue(text: string, control: string): Map<string, Allocation> {
  const [ours = "", waiting = ""] = text.split(/^--$/m);
  const others = linesOf(waiting).map(readWaiting);
  const found = linesOf(ours)
    .flatMap((line) => readJob(line, others) ?? [])
    .filter((job) => job.control === control)
    .sort((a, b) => a.jobId - b.jobId);
  return new Map(found.map((job) => [job.id, job]));
}

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line.includes("|"));

/** A job that waits, of whomever. */
interface Waiting {
  readonly id: number;
  readonly partitions: readonly string[];
  readonly priority: number;
  /** How often Slurm requeued it. */
  readonly restarts: number;
}

function readWaiting(line: string): Waiting {
  const [id, partitions = "", ...more] = line.split("|").map((one) => one.trim());
  const [priority, restarts] = more.map(Number);
  return {
    ...{ id: Number(id), partitions: partitions.split(",") },
    ...{ priority: priority ?? 0, restarts: restarts ?? 0 },
  };
}

function readJob(line: string, others: readonly Waiting[]): Allocation | undefined {
  const [id, state = "", why = "", start, hosts = "", partition = "", priority, ...rest] =
    line.split("|");
  const label = readLabel(rest.join("|"));
  if (label === undefined) return undefined;
  const isHopeless = state === "PENDING" && hopeless.test(why);
  const jobId = Number(id);
  const isRequeued = others.some((one) => one.id === jobId && one.restarts > 0);
  const asked = partition.split(",");
  // Of those with the same priority, Slurm tries the oldest first.
  const ahead = others.filter(
    (one) =>
      one.partitions.some((name) => asked.includes(name)) &&
      (one.priority - Number(priority) || jobId - one.id) > 0,
  );
  const turn = [
    `position ${ahead.length + 1} in partition ${partition}`,
    ...(start?.includes("T") ? [`estimated start ${start.slice(0, 15)}0`] : []),
  ];
  const job = isRequeued ? `Slurm requeued job ${id}` : `Slurm job ${id}`;
  const reason = [`${job}: ${why}`, ...(isHopeless ? [] : turn)].join(", ");
  const known = { jobId, state, hosts: expandHosts(hosts) };
  return { ...label, ...known, reason, isHopeless, isRequeued };
}

/** Where limits are not enforced at submission, Slurm has a job wait that it will not start. Source: squeue(1). */
const hopeless =
  /^(PartitionTimeLimit|PartitionNodeLimit|PartitionConfig|BadConstraints|Invalid(Account|QOS)|(Account|QOS)NotAllowed|\w+PerJob(Limit)?)$|can't use this partition/;

function readLabel(comment: string): Label | undefined {
  try {
    const label = JSON.parse(comment);
    return typeof label?.cluster?.name === "string" ? label : undefined;
  } catch {
    return undefined;
  }
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
  FAILED: "failed",
};
/** The machines are lost, as anywhere else. */
const lostWords: Readonly<Record<string, string>> = {
  PREEMPTED: "Slurm preempted",
  NODE_FAIL: "a node failed under",
  BOOT_FAIL: "a node did not boot for",
  REVOKED: "Slurm revoked",
};

/** What a node of an allocation is. An allocation that ends is waited for. */
export function stateOf(job: Allocation): Pick<NodeState, "state" | "reason" | "over" | "gone"> {
  const { state, reason, jobId, isRequeued } = job;
  const lost = lostWords[state];
  if (lost !== undefined) return { state: "stopped", gone: `${lost} job ${jobId}` };
  if (running.includes(state)) return { state: "running" };
  if (state === "COMPLETED") return { state: "stopped" };
  if (state === "COMPLETING") return { state: "pending", reason: `Slurm ends job ${jobId}` };
  const over = overWords[state];
  if (over !== undefined)
    return { state: "stopped", over: `its allocation ${over} (job ${jobId})` };
  return { state: "pending", reason, ...(isRequeued && { gone: `Slurm requeued job ${jobId}` }) };
}

/** Whether a job holds nodes, or will. */
export const isOpen = (job: Allocation): boolean =>
  ["running", "pending"].includes(stateOf(job).state);
