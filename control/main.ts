import { errorTypes, toAppError } from "../common/errors.ts";
import { exitOnCrash, openServiceManager, untilSignal } from "../common/programs.ts";
import { operations as rows } from "../contract/api.ts";
import { lateNodes } from "./clusters/late-nodes.ts";
import { reportOrphans } from "./clusters/orphans.ts";
import { clusters } from "./clusters/reconcile.ts";
import { startCollector } from "./collector.ts";
import { readConfig } from "./config.ts";
import { freeReserve } from "./db/reserve.ts";
import { databaseOf } from "./home.ts";
import { buildServer, listen } from "./http/server.ts";
import { jobCallbacks } from "./jobs/callbacks/reconcile.ts";
import { managedJobs } from "./jobs/reconcile.ts";
import { lockHome } from "./lock.ts";
import { openLog } from "./log.ts";
import { closeContext, openContext } from "./open.ts";
import { operations } from "./operations.ts";
import { ensureShippedRecipes } from "./recipes/shipped.ts";
import { startReconciler } from "./reconciler.ts";
import { openRequests } from "./requests/run.ts";
import { services } from "./services/reconcile.ts";
import { replicas } from "./services/replicas/reconcile.ts";
import { sshLeftovers } from "./ssh-pools/leftovers.ts";
import { sshHosts } from "./ssh-pools/reconcile.ts";
import { runSubcommand } from "./subcommands.ts";
import { ensureFirstAdmin } from "./users/first-admin.ts";

/** Serves until it is told to stop; what it works on goes on after the next start. */
async function main(): Promise<void> {
  const stopped = untilSignal("SIGTERM", "SIGINT");
  const config = readConfig(process.env);
  const service = openServiceManager(process.env);
  const log = openLog("control", config.logLevel);
  exitOnCrash((err) => log.fatal({ err }, "crashed"));
  if (freeReserve(databaseOf(config.home)))
    log.warn("the disk is full: started with reserved space; free more space");
  const lock = lockHome(config.home);
  const ctx = await openContext(config, log);
  void ctx.lease.lost.then((err) => {
    log.fatal({ err }, "ends");
    process.exit(1);
  });
  await ensureFirstAdmin(ctx);
  await ensureShippedRecipes(ctx);
  const stopping = new AbortController();
  const requests = await openRequests(ctx, operations);
  const server = buildServer(ctx, rows, operations);
  const address = await listen(server, config);
  lock.tell({ ...address, tls: config.tlsCertFile !== undefined });
  // Only then what an earlier process left, so that a list or a cancel of it is heard.
  const reconciling = [
    clusters,
    lateNodes,
    services,
    replicas,
    managedJobs,
    jobCallbacks,
    sshHosts,
    sshLeftovers,
  ].map((noun) => startReconciler(ctx, noun));
  const collector = startCollector(ctx);
  requests.start();
  const reporting = reportOrphans(ctx, stopping.signal).catch((error: unknown) =>
    log.warn({ err: error }, "orphans not looked for"),
  );
  log.info({ ...address, home: config.home }, "listening");
  service.ready(`listens on ${address.host}:${address.port}`);

  const signal = await stopped;
  log.info({ signal }, "stopping");
  service.stopping(`stops after ${signal}`);
  stopping.abort();
  await reporting;
  await server.close();
  await requests.stop();
  await collector.stop();
  await Promise.all(reconciling.map((noun) => noun.stop()));
  await closeContext(ctx);
  lock.release();
}

const [subcommand, ...words] = process.argv.slice(2);
(subcommand === undefined ? main() : runSubcommand(subcommand, words, process.env)).then(
  () => process.exit(0),
  (error: unknown) => {
    const { type, message, cause } = toAppError(error);
    console.error(`${type}: ${message}`, ...(cause === undefined ? [] : [cause]));
    process.exit(errorTypes[type].exit);
  },
);
