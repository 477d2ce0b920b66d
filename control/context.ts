import type { Changes } from "../common/changes.ts";
import type { Seal } from "../common/seal.ts";
import type { Secret } from "../common/secret.ts";
import type { Agents } from "./clusters/agents.ts";
import type { Cluster } from "./clusters/schema.ts";
import type { Watches } from "./clusters/watch.ts";
import type { Config } from "./config.ts";
import type { Batch } from "./db/batch.ts";
import type { Database } from "./db/open.ts";
import type { Agent } from "./doors/agent.ts";
import type { Logger } from "./log.ts";
import type { Provider } from "./providers/provider.ts";
import type { RequestLogs } from "./requests/log.ts";
import type { Queues } from "./requests/queue.ts";
import type { Reads } from "./requests/reads.ts";
import type { Balancers } from "./services/balancing/balancers.ts";
import type { SshReach } from "./ssh-pools/reach.ts";
import type { Uploads } from "./uploads/uploads.ts";

/** The world of every operation and loop. */
export interface Context {
  readonly config: Config;
  readonly log: Logger;
  readonly db: Database;
  /** Writes that may share a disk flush with others of the same moment. */
  readonly batch: Batch;
  readonly seal: Seal;
  /** Lets in callers that are not our own user. */
  readonly token: Secret;
  readonly changes: Changes;
  readonly queues: Queues;
  /** Requests that only read, while the disk is full. */
  readonly reads: Reads;
  readonly requestLogs: RequestLogs;
  readonly uploads: Uploads;
  readonly providers: readonly Provider[];
  /** The provider of this name; throws `CloudError` when it is not configured any more. */
  provider(name: string): Provider;
  /** The ways to machines that are reached over SSH. */
  readonly ssh: SshReach;
  readonly agents: Agents;
  /** The agent on a node of a cluster. */
  agent(cluster: Cluster, rank: number): Agent;
  readonly watches: Watches;
  readonly balancers: Balancers;
  /** How each noun's reconciler is told to look at a row now. */
  readonly nudges: Map<string, (id: string) => Promise<void>>;
  now(): Date;
}
