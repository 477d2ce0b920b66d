import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openChanges } from "../common/changes.ts";
import { AppError, fail } from "../common/errors.ts";
import { isNoRoom } from "../common/files.ts";
import { openSeal, readOrMake } from "../common/seal.ts";
import { tokenFile } from "../contract/control-pid.ts";
import { collectRefusals } from "./audit/collect.ts";
import { openRefusals } from "./audit/refusals.ts";
import { openCatalog } from "./clouds/catalog.ts";
import { openAgents } from "./clusters/agents.ts";
import { openWatches } from "./clusters/watch.ts";
import type { Config } from "./config.ts";
import type { Context } from "./context.ts";
import { openBatch } from "./db/batch.ts";
import { checkDatabase, clearMark, markInUse } from "./db/damage.ts";
import { takeLease } from "./db/lease.ts";
import { type Connected, isFull } from "./db/node-sqlite.ts";
import { openDatabase } from "./db/open.ts";
import { openKubeClusters } from "./doors/kubernetes/clusters.ts";
import { openBundles } from "./doors/ssh/bundles.ts";
import { openEventLog } from "./event-log.ts";
import { narrateEvents } from "./event-narration.ts";
import { databaseOf } from "./home.ts";
import { openJobLeases } from "./jobs/leases.ts";
import { openJobLogs } from "./jobs/log-copies.ts";
import type { Logger } from "./log.ts";
import { bounded } from "./providers/bounded.ts";
import { openProviders } from "./providers/index.ts";
import { nudge } from "./reconciler.ts";
import { openRequestLogs } from "./requests/log.ts";
import { openQueues } from "./requests/queue.ts";
import { openReads } from "./requests/reads.ts";
import { openBalancers } from "./services/balancing/balancers.ts";
import { openHostBook } from "./ssh-pools/allocations.ts";
import { keyFolderOf } from "./ssh-pools/keys.ts";
import { openReach } from "./ssh-pools/reach.ts";
import { openSteadyClock } from "./steady-clock.ts";
import { openToken } from "./token.ts";
import { openUploads } from "./uploads/uploads.ts";
import { openConfigurations } from "./workspaces/configurations.ts";

/** What a test puts in the place of the real thing. */
export type Replaced = Partial<Pick<Context, "providers" | "now" | "steadyNow" | "balancers">> & {
  readonly connection?: Connected;
};

const urgentAtOnce = 16;

const unlimited = Number.POSITIVE_INFINITY;

/** Opens everything that control keeps under its home; throws `DiskFullError` where there is no room. */
export async function openContext(
  config: Config,
  log: Logger,
  replaced: Replaced = {},
): Promise<Context> {
  try {
    return await open(config, log, replaced);
  } catch (error) {
    const isOfRoom = error instanceof AppError && error.type === "DiskFullError";
    if (!isOfRoom && !isNoRoom(error) && !isFull(error)) throw error;
    const message = `the disk of ${join(config.home, "control")} is full: control cannot start; make room on it, then start control again`;
    throw new AppError("DiskFullError", message);
  }
}

async function open(config: Config, log: Logger, replaced: Replaced): Promise<Context> {
  const home = join(config.home, "control");
  const changes = openChanges();
  const now = replaced.now ?? (() => new Date());
  const steadyNow = replaced.steadyNow ?? openSteadyClock();
  const file = databaseOf(config.home);
  const sealFile = join(home, "seal.key");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const hasBeenLeft = markInUse(file);
  // The key is made after the database: until it is there, what is in that means nothing yet.
  if (existsSync(sealFile) && existsSync(file)) checkDatabase(file, { whole: hasBeenLeft });
  const db = await openDatabase(file, replaced.connection);
  const lease = await takeLease(db);
  const eventLog = openEventLog(db, changes);
  const batch = openBatch(db, {
    before: lease.check,
    after(tx) {
      eventLog.committed(tx);
      narrateEvents(ctx, tx);
    },
  });
  const seal = openSeal(sealFile);
  const keyring = { keyFolder: keyFolderOf(config), agentSocket: config.sshAgentSocket };
  const bundles = openBundles(join(home, "bundles"));
  const controlId = readOrMake(join(home, "id"), () => Buffer.from(randomUUID())).toString();
  const ssh = openReach({ controlId, db, batch, seal, keyring, bundles, now });
  const kubernetes = openKubeClusters(config.kubeconfig, config.kubernetesContexts);
  const book = openHostBook({ db, batch }, ssh);
  const wake = (id: string) => void nudge(ctx, "cluster", id);
  const hosts = { book, ways: ssh, clusters: kubernetes, seal, epoch: lease.epoch, wake };
  const mayChange = () => lease.check(db);
  const providers = (replaced.providers ?? openProviders(config, log, hosts)).map((one) =>
    bounded(one, mayChange),
  );
  const provider = (name: string) =>
    providers.find((one) => one.name === name) ??
    fail("CloudError", `the provider ${name} is not configured`);
  const agents = openAgents();
  const reads = openReads();
  const ctx: Context = {
    config,
    log,
    db,
    lease,
    batch,
    seal,
    token: openToken(join(config.home, tokenFile)),
    changes,
    queues: openQueues({
      long: config.longAtOnce,
      short: config.shortAtOnce,
      urgent: urgentAtOnce,
    }),
    configurations: openConfigurations(db, seal),
    refusals: openRefusals(now),
    reads,
    requestLogs: openRequestLogs(
      join(home, "requests"),
      changes,
      (id) => reads.find(id) !== undefined,
    ),
    uploads: openUploads(
      join(home, "clients"),
      now,
      (config.uploadMegabytesPerUser ?? unlimited) * 2 ** 20,
    ),
    catalog: openCatalog(join(config.home, "catalog"), (problem) =>
      log.warn({ problem }, "catalog file left out"),
    ),
    providers,
    provider,
    kubernetes,
    ssh,
    agents,
    agent: (cluster, rank) => agents.of(provider(cluster.provider), cluster, rank),
    watches: openWatches(() => ctx),
    balancers: replaced.balancers ?? openBalancers(() => ctx),
    jobLogs: openJobLogs(() => ctx),
    jobLeases: openJobLeases(() => ctx),
    reconciling: new Map(),
    eventLog,
    eventStreams: new Set(),
    now,
    steadyNow,
  };
  return ctx;
}

/** Closes what `openContext` opened. */
export async function closeContext(ctx: Context): Promise<void> {
  await ctx.watches.stop();
  await ctx.balancers.stop();
  await ctx.jobLogs.stop();
  await ctx.jobLeases.stop();
  await ctx.agents.close();
  ctx.ssh.forwards.closeAll();
  ctx.ssh.connections.close();
  await ctx.kubernetes.close();
  await collectRefusals(ctx).catch((err: unknown) => ctx.log.warn({ err }, "refusals not counted"));
  await ctx.db.destroy();
  clearMark(databaseOf(ctx.config.home));
}
