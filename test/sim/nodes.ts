import { nodeLost, rebooted } from "../../contract/job-loss.ts";
import type { NodeState } from "../../control/providers/provider.ts";
import type { UnservedAgent } from "../helpers/fake-agent.ts";
import { openOf } from "../helpers/fake-lifecycles.ts";
import { aFakeNode, type FakeJob, type FakeNode, isOver } from "../helpers/fake-node.ts";
import type { Clock } from "./clock.ts";
import { variableOf } from "./job-wishes.ts";
import { type LogWord, workloadOf } from "./workloads.ts";

/** A machine, which outlives every control plane. */
export interface Machine {
  readonly node: FakeNode;
  readonly rank: number;
  /** Whether it came after the process that asked for it was gone. */
  readonly isLate: boolean;
  /** Whether it was made for one that was there when it was asked for: control learns of that later. */
  readonly isInstead: boolean;
  readonly streams: Set<() => void>;
  state: NodeState["state"];
  agent: UnservedAgent | undefined;
  /** What ran before it was turned on does not run any more, which its agent finds out. */
  isNewBoot: boolean;
  /** Its agent does not come back before. */
  agentAwayUntil: number;
  /** Nobody reaches it until then. */
  cutOffUntil: number;
  readonly address: string;
  /** What is on its way there and back is late by so much, until then. */
  late: { readonly byMs: number; readonly until: number };
  /** Its provider does not reach it either, until then. */
  apartUntil: number;
  lease: NodeLease | undefined;
  /** How fast its steady clock goes, and what that shows at the beginning. */
  readonly steady: { readonly rate: number; readonly fromMs: number };
}

/** How long what runs on a node may live, from an instant of its steady clock. */
export interface NodeLease {
  readonly leaseMs: number;
  fromMs: number;
  isOver: boolean;
  /** When the node was last known to be out of touch with control, in simulated time. */
  apartAt: number;
}

const addressOf = (number: number): string => `10.0.${number >> 8}.${number & 255}`;
const onTime = { cutOffUntil: 0, apartUntil: 0, late: { byMs: 0, until: 0 } };
/** As different as clocks of machines may be. */
const rates = [1, 0.992, 1.008];

/** The machine that was made as this one in the world; it is off. */
export const aMachine = (
  id: string,
  { made, ...origin }: { made: number } & Pick<Machine, "rank" | "isLate" | "isInstead">,
): Machine => ({
  // What it begins by itself has an id of its own in the world.
  node: Object.assign(aFakeNode(id, ""), { holdsHooks: true, ownLifecycles: (made - 1) * 1_000 }),
  ...origin,
  ...{ streams: new Set(), state: "stopped", agent: undefined },
  ...{ isNewBoot: true, agentAwayUntil: 0, address: addressOf(made), ...onTime },
  lease: undefined,
  steady: { rate: rates[made % rates.length] ?? 1, fromMs: made * 1_000_000 },
});

/** Every way there is free again. */
export const free = (machine: Machine): unknown => Object.assign(machine, onTime);

/** How late everything on the way to a machine and back is, now. */
export function latenessOf(machine: Machine | undefined, now: number): number {
  const { byMs, until } = machine?.late ?? onTime.late;
  return until <= now ? 0 : Math.min(byMs, until - now);
}

/** Whether it is on, and what is sent to it is answered at once. */
export const answers = (machine: Machine, now: number): boolean =>
  machine.agent !== undefined && machine.cutOffUntil <= now && latenessOf(machine, now) === 0;

export function endAgent(machine: Machine): void {
  machine.agent = undefined;
  for (const cut of [...machine.streams]) cut();
}

/** Whether a machine is gone, or is about to be taken back. */
export const isLeaving = (machine: Machine | undefined): boolean =>
  machine === undefined || openOf(machine.node)?.events.includes("preemption") === true;

/** Ends everything that runs on a machine. */
export function endAll(machine: Machine): void {
  endAgent(machine);
  machine.isNewBoot = true;
  // One of an earlier boot is over.
  if (machine.lease !== undefined) machine.lease.isOver = true;
  for (const job of machine.node.jobs)
    if (!isOver(job.status))
      Object.assign(job, { status: "FAILED_DRIVER", reason: rebooted, endedAt: 1 });
}

/** The jobs of a head end with any of its other nodes. */
export function loseRank({ node, agent }: Machine, rank: number): void {
  for (const job of node.jobs) {
    if (isOver(job.status)) continue;
    job.reason = nodeLost(rank);
    if (agent !== undefined) agent.end(job.id, "FAILED_DRIVER");
    else job.status = "FAILED_DRIVER";
  }
}

const byTerm = { exitCode: 143, reason: "run exited with 143 (ended by SIGTERM)" };

/** A machine that is taken back ends what managed jobs run on it, as it would any process. */
export function terminate({ node, agent }: Machine): void {
  for (const job of node.jobs) {
    if (isOver(job.status) || agent === undefined) continue;
    if (variableOf(job, "MANAGED_JOB_ID") === undefined) continue;
    Object.assign(job, byTerm);
    agent.end(job.id, "FAILED");
  }
}

const looksAgainMs = 1_500;

/** Makes a job print, end or fail as its script says. An agent that is away learns of the end when it is back. */
export function run(clock: Clock, machine: Machine, job: FakeJob): void {
  const { endsAs, reason, exitCode, afterMs } = workloadOf(job);
  const print = (word: LogWord) => {
    const text = `${word} ${job.submissionId}\n`;
    if (machine.agent === undefined) job.text += text;
    else machine.agent.print(job.id, text);
  };
  const half = () => isOver(job.status) || print("half");
  const end = () => {
    if (isOver(job.status)) return;
    if (machine.agent === undefined) return clock.after(looksAgainMs, end);
    print("done");
    Object.assign(job, { reason, exitCode });
    machine.agent.end(job.id, endsAs);
  };
  print("begun");
  if (afterMs === null) return;
  clock.after(afterMs / 2, half);
  clock.after(afterMs, end);
}
