import { errorTypes, toAppError } from "../../common/errors.ts";
import { exitOnCrash, untilSignal } from "../../common/programs.ts";
import { balancerOperations } from "../../contract/balancer-api.ts";
import { openSplice } from "../../sidecar/forward/splice.ts";
import { openBalancer } from "./balancer.ts";
import { readConfig } from "./config.ts";
import { Entrance } from "./listener.ts";
import { openLogs } from "./log.ts";
import { bindOperations } from "./operations.ts";
import { serveControl } from "./server.ts";

/** Balances the requests of a service until it is told to end; it needs control for none of them. */
async function main(): Promise<void> {
  const stopped = untilSignal("SIGTERM", "SIGINT");
  const { socket, build, listen, limits, drainMs, logs } = readConfig(process.env);
  const { log, access } = openLogs(logs);
  exitOnCrash((error) => log.error({ error }, "crashed"));
  const balancer = openBalancer();
  const { choose } = balancer;
  const parts = { limits, choose, authorize: () => "", observer: access, engine: openSplice() };
  const entrance = new Entrance(parts, listen, drainMs);
  const { bound, ended } = bindOperations(balancer, entrance, build);
  const control = await serveControl(balancerOperations, bound, { socket, log });
  log.info({ socket, pid: process.pid }, "waits for its plan");

  // Who is told to by others says so to control, which has another take the place.
  const told = Promise.race([stopped, control.lost]).then(() => {
    control.leave();
    return drainMs;
  });
  const ms = await Promise.race([ended, told]);
  log.info({ drainMs: ms }, "stopping");
  const cut = await entrance.close(ms);
  if (cut > 0) log.warn({ requests: cut }, "closed requests that were still in progress");
  balancer.stop();
  control.close();
  log.info({}, "ended");
  await access.close();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const { type, message, cause } = toAppError(error);
    console.error(`${type}: ${message}`, ...(cause === undefined ? [] : [cause]));
    process.exit(errorTypes[type].exit);
  },
);
