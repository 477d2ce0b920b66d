import type { Readable } from "node:stream";
import type { Secret } from "../common/secret.ts";
import type { CatalogNow } from "./clouds/catalog.ts";
import type { Agents } from "./clusters/agents.ts";
import type { Cluster, Watches } from "./clusters/schema.ts";
import type { Agent } from "./doors/agent.ts";
import type { KubeClusters } from "./doors/kubernetes/clusters.ts";
import type { EventLog } from "./event-log.ts";
import type { Ground } from "./ground.ts";
import type { JobLeases, JobLogs } from "./jobs/schema.ts";
import type { Provider } from "./providers/provider.ts";
import type { RequestLogs } from "./requests/log.ts";
import type { Queues } from "./requests/queue.ts";
import type { Reads } from "./requests/reads.ts";
import type { Balancers } from "./services/schema.ts";
import type { SshReach } from "./ssh-pools/reach.ts";
import type { Uploads } from "./uploads/uploads.ts";

/** The world of every operation and loop: the ground of the stores, and what acts. */
export interface Context extends Ground {
  /** Lets in callers that are not our own user. */
  readonly token: Secret;
  readonly queues: Queues;
  /** Requests that only read, while the disk is full. */
  readonly reads: Reads;
  readonly requestLogs: RequestLogs;
  readonly uploads: Uploads;
  /** Accelerators, machines and prices that are known beside what providers offer. */
  readonly catalog: CatalogNow;
  readonly providers: readonly Provider[];
  /** The provider of this name; throws `CloudError` when it is not configured any more. */
  provider(name: string): Provider;
  /** The Kubernetes clusters that may be used. */
  readonly kubernetes: KubeClusters;
  /** The ways to machines that are reached over SSH. */
  readonly ssh: SshReach;
  readonly agents: Agents;
  /** The agent on a node of a cluster. */
  agent(cluster: Cluster, rank: number): Agent;
  readonly watches: Watches;
  readonly balancers: Balancers;
  readonly jobLogs: JobLogs;
  readonly jobLeases: JobLeases;
  /** The reconciler of each noun, to be told to look at a row now, and asked what it does. */
  readonly reconciling: Map<string, Passes>;
  readonly eventLog: EventLog;
  /** The streams of events that are open. */
  readonly eventStreams: Set<Readable>;
}

/** What a row's pass does beside the others. */
export interface Doing {
  readonly what: string;
  /** Whose turn it takes. */
  readonly lane: string;
  /** How long it has done that, or waited for its turn. */
  readonly forMs: number;
  readonly isWaiting: boolean;
}

/** The passes over the rows of a noun. */
export interface Passes {
  /**
   * Has a pass over the row begun soon; resolves when one that began after the call is over. Where
   * the row has a new wish, the step that is under way is broken off unless it serves that wish, too.
   */
  nudge(id: string, hasNewWish?: boolean): Promise<void>;
  /** What is done for a row now; undefined where nothing takes long. */
  doing(id: string): Doing | undefined;
}
