import { once } from "node:events";
import { product } from "../../common/product.ts";
import { exitOnCrash } from "../../common/programs.ts";
import type { Config } from "../config.ts";
import { openForwarder } from "../forwarder.ts";
import { openLogs } from "../log.ts";
import { answerCalls } from "./calls.ts";

/** Tells a worker from the primary process, and what its settings are. */
export const workerVariable = `${product.word}_worker`.toUpperCase();

/** Signals that reach the whole group or service; what they mean is up to the primary process. */
const ignored = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** Forwards as the primary process says, for as long as that is there. */
export async function runWorker(settings: string): Promise<number> {
  for (const signal of ignored) process.on(signal, () => {});
  const gone = once(process, "disconnect");
  const config = JSON.parse(settings) as Config;
  const logs = openLogs(config.logLevel, config.accessLog);
  exitOnCrash((error) => logs.log.error({ error }, "crashed"));
  const forwarder = openForwarder(config, logs);
  answerCalls({
    ...forwarder,
    async drain(deadlineMs) {
      const cut = await forwarder.drain(deadlineMs);
      await logs.close();
      return cut;
    },
  });
  await gone;
  return 0;
}
