import type { Autostop } from "../../contract/agent-shapes.ts";
import type { Provider } from "../../control/providers/provider.ts";
import type { FakeJob } from "../helpers/fake-node.ts";
import type { Probed } from "./balancers.ts";
import type { HookBegun } from "./hooks.ts";
import type { Zones } from "./zones.ts";

/** What the cloud tells of. */
export interface Watcher {
  /** A node is about to be stopped or deleted, by control. */
  ending(how: "stop" | "destroy", clusterId: string): void;
  /** A node is about to be made or turned on, asked for by a process that is there. */
  making(clusterId: string): void;
  /** As `making`, of one that is not there, or not any more. */
  makingNew(clusterId: string): void;
  /** Something is asked for that is so already. */
  repeated(what: string): void;
  /** A job was begun on a node; it is doomed where a machine of it is gone, or about to go. */
  began(job: FakeJob, clusterId: string, isDoomed: boolean): void;
  /** A job was cancelled by control. */
  cancelled(submissionId: string): void;
  /** A machine of a cluster goes down; where it is doomed it does not come back. */
  hurt(clusterId: string, isDoomed: boolean): void;
  /** The lease of a node has run out, which was in touch with control for so long by then. */
  leaseEnds(clusterId: string, leaseMs: number, inTouchForMs: number): void;
  /** A machine out of reach was deleted: what runs there goes on. */
  abandoned(clusterId: string): void;
  /** Whether control is there, and is not held up by anything. */
  isControlWell(): boolean;
  trace(line: string): void;
}

/** When a machine is taken away, and when what runs there ends: half-way, if not said. */
export interface Preemption {
  readonly inMs: number;
  readonly endsJobsInMs?: number;
}

/** A cloud in simulated time, and the nodes in it. */
export interface Cloud extends Pick<Zones, "fill" | "queue"> {
  readonly provider: Provider;
  /** The hooks that nodes have begun. */
  readonly hooks: readonly HookBegun[];
  /** How what runs at an address answers a probe. */
  probed: Probed;
  /** What the head of a cluster does once it is idle; undefined where it is off. */
  autostopOf(clusterId: string): Autostop | undefined;
  /** The clusters that machines belong to, or that machines belong to that did not come late. */
  clusterIds(which?: "all" | "in time"): string[];
  /** The clusters of which a node waits for its machine. */
  pendingIds(): string[];
  /** Whether every machine of a cluster is on, and answers at once. */
  isHeard(clusterId: string): boolean;
  cutOff(clusterId: string, rank: number, forMs: number): void;
  /** As `cutOff`; one with a lease is out of reach of its provider, too, and outlives its deletion. */
  isolate(clusterId: string, rank: number, forMs: number): void;
  /** Whatever is on its way to a node or back is late for a while. */
  slowDown(clusterId: string, rank: number, byMs: number, forMs: number): void;
  /** Nothing comes to a node or back for a while; then all of it does, unless it was given up. */
  silence(clusterId: string, rank: number, forMs: number): void;
  /** The agent comes back a while later, however often it is started before. */
  killAgent(clusterId: string, rank: number, awayMs: number): void;
  /** Everything that runs on a node ends; its agent comes back a while later. */
  reboot(clusterId: string, rank: number, awayMs: number): void;
  loseNode(clusterId: string, rank: number): void;
  /** Says on a node that it is taken away, and then does that. */
  preempt(clusterId: string, rank: number, when: Preemption): void;
  /** Has the idle timer of a cluster run out, where it may. */
  becomeIdle(clusterId: string): void;
  /** Faults are over. */
  calm(): void;
}
