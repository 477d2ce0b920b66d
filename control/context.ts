import { join } from "node:path";
import { type Changes, openChanges } from "../common/changes.ts";
import { fail } from "../common/errors.ts";
import type { Logger } from "../common/log.ts";
import { openSeal, type Seal } from "../common/seal.ts";
import { type Agents, openAgents } from "./clusters/agents.ts";
import type { Cluster } from "./clusters/schema.ts";
import { openWatches, type Watches } from "./clusters/watch.ts";
import type { Config } from "./config.ts";
import { type Batch, openBatch } from "./db/batch.ts";
import { type Database, openDatabase } from "./db/open.ts";
import type { Agent } from "./doors/agent.ts";
import { openProviders } from "./providers/index.ts";
import type { Provider } from "./providers/provider.ts";
import { openRequestLogs, type RequestLogs } from "./requests/log.ts";
import { openQueues, type Queues } from "./requests/queue.ts";

/** The world of every operation and loop. */
export interface Context {
  readonly config: Config;
  readonly log: Logger;
  readonly db: Database;
  /** Writes that may share a disk flush with others of the same moment. */
  readonly batch: Batch;
  readonly seal: Seal;
  readonly changes: Changes;
  readonly queues: Queues;
  readonly requestLogs: RequestLogs;
  readonly providers: readonly Provider[];
  readonly agents: Agents;
  readonly watches: Watches;
  /** How each noun's reconciler is told to look at a row now. */
  readonly nudges: Map<string, (id: string) => Promise<void>>;
  now(): Date;
}

/** Opens everything that control keeps under its home. */
export async function openContext(config: Config, log: Logger): Promise<Context> {
  const home = join(config.home, "control");
  const db = await openDatabase(join(home, "state.db"));
  const changes = openChanges();
  const ctx: Context = {
    config,
    log,
    db,
    batch: openBatch(db),
    seal: openSeal(join(home, "seal.key")),
    changes,
    queues: openQueues({ long: config.longAtOnce, short: config.shortAtOnce }),
    requestLogs: openRequestLogs(join(home, "requests"), changes),
    providers: openProviders(config, log),
    agents: openAgents(),
    watches: openWatches(() => ctx),
    nudges: new Map(),
    now: () => new Date(),
  };
  return ctx;
}

/** Closes what `openContext` opened. */
export async function closeContext(ctx: Context): Promise<void> {
  await ctx.watches.stop();
  await ctx.agents.close();
  await ctx.db.destroy();
}

/** The agent on a node of a cluster. */
export const agentOf = (ctx: Context, cluster: Cluster, rank: number): Agent =>
  ctx.agents.of(providerOf(ctx, cluster.provider), cluster, rank);

/** The provider of this name; throws `CloudError` when it is not configured any more. */
export function providerOf(ctx: Context, name: string): Provider {
  const found = ctx.providers.find((provider) => provider.name === name);
  return found ?? fail("CloudError", `the provider ${name} is not configured`);
}
