import { join } from "node:path";
import { openChanges } from "../common/changes.ts";
import { fail } from "../common/errors.ts";
import { openSeal } from "../common/seal.ts";
import { openAgents } from "./clusters/agents.ts";
import { openWatches } from "./clusters/watch.ts";
import type { Config } from "./config.ts";
import type { Context } from "./context.ts";
import { openBatch } from "./db/batch.ts";
import { openDatabase } from "./db/open.ts";
import type { Logger } from "./log.ts";
import { openProviders } from "./providers/index.ts";
import { openRequestLogs } from "./requests/log.ts";
import { openQueues } from "./requests/queue.ts";

/** What a test puts in the place of the real thing. */
export type Replaced = Partial<Pick<Context, "providers" | "now">>;

/** Opens everything that control keeps under its home. */
export async function openContext(
  config: Config,
  log: Logger,
  replaced: Replaced = {},
): Promise<Context> {
  const home = join(config.home, "control");
  const changes = openChanges();
  const providers = replaced.providers ?? openProviders(config, log);
  const provider = (name: string) =>
    providers.find((one) => one.name === name) ??
    fail("CloudError", `the provider ${name} is not configured`);
  const agents = openAgents();
  const db = await openDatabase(join(home, "state.db"));
  const ctx: Context = {
    config,
    log,
    db,
    batch: openBatch(db),
    seal: openSeal(join(home, "seal.key")),
    changes,
    queues: openQueues({ long: config.longAtOnce, short: config.shortAtOnce }),
    requestLogs: openRequestLogs(join(home, "requests"), changes),
    providers,
    provider,
    agents,
    agent: (cluster, rank) => agents.of(provider(cluster.provider), cluster, rank),
    watches: openWatches(() => ctx),
    nudges: new Map(),
    now: replaced.now ?? (() => new Date()),
  };
  return ctx;
}

/** Closes what `openContext` opened. */
export async function closeContext(ctx: Context): Promise<void> {
  await ctx.watches.stop();
  await ctx.agents.close();
  await ctx.db.destroy();
}
