import { errorTypes, toAppError } from "../common/errors.ts";
import { untilSignal } from "../common/programs.ts";
import { agentOperations } from "../contract/agent-api.ts";
import { readConfig } from "./config.ts";
import { openAgent } from "./context.ts";
import { watchIdle } from "./idle.ts";
import { openLog } from "./log.ts";
import { bindOperations } from "./operations.ts";
import { serve } from "./server.ts";
import { superviseWork } from "./supervisor.ts";

/** Serves the node until it is told to leave. Jobs go on without it. */
async function main(): Promise<void> {
  const leave = untilSignal("SIGTERM", "SIGINT");
  const config = readConfig(process.env);
  const log = openLog(config.logLevel);
  const stopping = new AbortController();
  const agent = openAgent(config, log, stopping.signal);
  const loops = [superviseWork(agent), watchIdle(agent)];
  const server = await serve(agentOperations, bindOperations(agent), {
    socket: config.socket,
    log,
  });
  log.info({ socket: config.socket, pid: process.pid }, "listening");

  const signal = await Promise.race([leave, ...loops]);
  log.info({ signal }, "leaving");
  stopping.abort();
  server.close().closeAllConnections();
  agent.journal.db.close();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const { type, message, cause } = toAppError(error);
    openLog("info").error({ type, error: cause ?? message }, "the agent cannot go on");
    process.exit(errorTypes[type].exit);
  },
);
