import { errorTypes, toAppError } from "../common/errors.ts";
import { untilSignal } from "../common/programs.ts";
import { operations as rows } from "../contract/api.ts";
import { clusters } from "./clusters/reconcile.ts";
import { startCollector } from "./collector.ts";
import { readConfig } from "./config.ts";
import { buildServer, listen } from "./http/server.ts";
import { lockHome } from "./lock.ts";
import { openLog } from "./log.ts";
import { closeContext, openContext } from "./open.ts";
import { operations } from "./operations.ts";
import { startReconciler } from "./reconciler.ts";
import { startRequests } from "./requests/run.ts";

/** Serves until it is told to stop; what it works on goes on after the next start. */
async function main(): Promise<void> {
  const stopped = untilSignal("SIGTERM", "SIGINT");
  const config = readConfig(process.env);
  const log = openLog("control", config.logLevel);
  const lock = lockHome(config.home);
  const ctx = await openContext(config, log);
  const reconciling = startReconciler(ctx, clusters);
  const collector = startCollector(ctx);
  const requests = await startRequests(ctx, operations);
  const server = buildServer(ctx, rows, operations);
  const address = await listen(server, config);
  lock.tell(address);
  log.info({ ...address, home: config.home }, "listening");

  log.info({ signal: await stopped }, "stopping");
  await server.close();
  await requests.stop();
  await collector.stop();
  await reconciling.stop();
  await closeContext(ctx);
  lock.release();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const { type, message, cause } = toAppError(error);
    console.error(`${type}: ${message}`, ...(cause === undefined ? [] : [cause]));
    process.exit(errorTypes[type].exit);
  },
);
