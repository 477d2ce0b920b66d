import { errorTypes, toAppError } from "../common/errors.ts";
import { exitOnCrash, untilSignal } from "../common/programs.ts";
import { type Config, readConfig } from "./config.ts";
import { endAll, passSignals } from "./drain.ts";
import { openForwarder } from "./forwarder.ts";
import { helpText } from "./help.ts";
import { followKeys } from "./key-sources.ts";
import { openLogs } from "./log.ts";
import { single } from "./metrics.ts";
import { renderMetrics } from "./metrics-page.ts";
import { serveMonitor } from "./monitor.ts";
import { runWorker, workerVariable } from "./workers/worker.ts";
import { openWorkers } from "./workers/workers.ts";
import { findPort, wrapCommand } from "./wrap.ts";

/** Forwards what carries a key until it, or the command it wraps, is to end. */
async function run(config: Config): Promise<number> {
  const stopped = untilSignal("SIGTERM", "SIGINT");
  const logs = openLogs(config.logLevel, config.accessLog);
  const { log } = logs;
  exitOnCrash((error) => log.error({ error }, "crashed"));
  const forwarder = (config.workers > 1 ? openWorkers : openForwarder)(config, logs, process.env);
  const keys = await followKeys(forwarder.use, config, process.env, log);
  process.on("SIGHUP", keys.reload);
  const upstream = config.upstream ?? (await commandAddress(config));
  const address = await forwarder.listen(config.listen, upstream);
  const monitored = {
    isServing: forwarder.isServing,
    metrics: async () =>
      renderMetrics({ ...(await forwarder.samples()), keys: single(keys.count) }),
  };
  const monitor = config.metrics && (await serveMonitor(monitored, config.metrics));
  const wrapped = config.upstream
    ? undefined
    : wrapCommand(config.command, upstream.port, process.env, config.drainSeconds * 1_000);
  if (wrapped) passSignals(wrapped);
  log.info({ ...address, upstream, monitor, keys: keys.count }, "listening");

  const reason = await Promise.race([stopped, wrapped?.exited ?? stopped]);
  log.info({ reason }, "stopping");
  const code = await endAll(forwarder, wrapped, config.drainSeconds * 1_000, log);
  await logs.close();
  return code;
}

const commandAddress = async ({ commandPort }: Config) => ({
  host: "127.0.0.1",
  port: commandPort ?? (await findPort()),
});

async function main(): Promise<number> {
  const worker = process.env[workerVariable];
  if (worker !== undefined && process.connected) return runWorker(worker);
  const config = readConfig(process.argv.slice(2), process.env);
  if (config !== undefined) return run(config);
  console.log(helpText());
  return 0;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const { type, message, cause } = toAppError(error);
    console.error(`error: ${message}`, ...(cause === undefined ? [] : [cause]));
    process.exit(errorTypes[type].exit);
  },
);
