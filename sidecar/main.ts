import { errorTypes, toAppError } from "../common/errors.ts";
import { exitOnCrash, untilSignal } from "../common/programs.ts";
import { authorizeBy } from "./authorize.ts";
import { type Config, readConfig } from "./config.ts";
import { endAll, passSignals } from "./drain.ts";
import { engines } from "./forward/engines.ts";
import { always } from "./forward/route.ts";
import { serve } from "./forward/serve.ts";
import { helpText } from "./help.ts";
import { followKeys } from "./key-sources.ts";
import { openKeys } from "./keys.ts";
import { limitsOf } from "./limits.ts";
import { openLogs } from "./log.ts";
import { openMetrics } from "./metrics.ts";
import { serveMonitor } from "./monitor.ts";
import { observeBy } from "./observe.ts";
import { findPort, wrapCommand } from "./wrap.ts";

/** Forwards what carries a key until it, or the command it wraps, is to end. */
async function run(config: Config): Promise<number> {
  const stopped = untilSignal("SIGTERM", "SIGINT");
  const logs = openLogs(config.logLevel, config.accessLog);
  const { log } = logs;
  exitOnCrash((error) => log.error({ error }, "crashed"));
  const keys = openKeys();
  process.on("SIGHUP", followKeys(keys, config, process.env, log).reload);
  const upstream = config.upstream ?? (await commandAddress(config));
  const metrics = openMetrics();
  const parts = {
    limits: limitsOf(config),
    authorize: authorizeBy(keys, config.allowPath),
    observer: observeBy(metrics, logs.access),
    choose: always(upstream),
    engine: await engines[config.engine](),
  };
  const serving = await serve(parts, config.listen);
  const monitored = {
    isHealthy: () => !serving.isDraining,
    metrics: () => metrics.render({ ...serving.gauges(), keys: keys.count }, logs.dropped),
  };
  const monitor = config.metrics && (await serveMonitor(monitored, config.metrics));
  const wrapped = config.upstream
    ? undefined
    : wrapCommand(config.command, upstream.port, process.env, config.drainSeconds * 1_000);
  if (wrapped) passSignals(wrapped);
  log.info({ ...serving.address, upstream, monitor, keys: keys.count }, "listening");

  const reason = await Promise.race([stopped, wrapped?.exited ?? stopped]);
  log.info({ reason }, "stopping");
  const code = await endAll(serving, wrapped, config.drainSeconds * 1_000, log);
  await logs.close();
  return code;
}

const commandAddress = async ({ commandPort }: Config) => ({
  host: "127.0.0.1",
  port: commandPort ?? (await findPort()),
});

async function main(): Promise<number> {
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
