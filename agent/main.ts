import { flushCompileCache } from "node:module";
import { errorTypes, toAppError } from "../common/errors.ts";
import { openLog } from "../common/log.ts";
import { exitOnCrash, openServiceManager } from "../common/programs.ts";
import { serve } from "../common/server.ts";
import { agentOperations } from "../contract/agent-api.ts";
import { readConfig } from "./config.ts";
import { openAgent } from "./context.ts";
import { superviseExports } from "./files/volumes.ts";
import { watchIdle } from "./idle.ts";
import { superviseWork } from "./jobs/supervisor.ts";
import { isCorrupt } from "./journal.ts";
import { watchLease } from "./lease.ts";
import { superviseMounts } from "./mounts/mounts.ts";
import { watchNotices } from "./notices/notices.ts";
import { bindOperations } from "./operations.ts";
import { pipe } from "./pipe.ts";
import { untilTurnedOff } from "./power-off.ts";
import { rebuildJournal } from "./rebuild.ts";
import { type Dismissal, hearSignals, untilDismissed } from "./signals.ts";

/**
 * Serves the node until it is told to leave; answers the exit code. Jobs go on without it, unless
 * the node ends with it.
 */
async function main(): Promise<number> {
  const signals = hearSignals();
  const config = readConfig(process.env);
  const service = openServiceManager(process.env);
  const log = openLog("agent", config.logLevel);
  exitOnCrash((error) => log.error({ error }, "crashed"));
  const stopping = new AbortController();
  const agent = openAgent(config, log, stopping.signal);
  const { replaces } = agent.journal;
  if (replaces !== undefined) rebuildJournal(agent, replaces);
  const corrupt = Promise.withResolvers<Dismissal>();
  const loops = [watchLease(agent), superviseWork(agent), watchIdle(agent), superviseMounts(agent)];
  const ends = [untilDismissed(agent, signals), untilTurnedOff(agent)];
  watchNotices(agent);
  void superviseExports(agent);
  const server = await serve(agentOperations, bindOperations(agent), {
    socket: config.socket,
    log,
    failed: (error) => {
      // Whatever starts the agent again has it rebuilt.
      if (isCorrupt(error)) corrupt.resolve({ because: "the journal is corrupt", exitCode: 1 });
    },
  });
  log.info({ socket: config.socket, pid: process.pid }, "listening");
  service.ready(`listens on ${config.socket}`);
  // Now and not at its end: agents live long and are killed, and the next one shall start fast.
  flushCompileCache();

  const { because, exitCode } = await Promise.race([...ends, ...loops, corrupt.promise]);
  log.info({ because }, "leaving");
  service.stopping(`leaves: ${because}`);
  stopping.abort();
  server.close().closeAllConnections();
  agent.journal.db.close();
  return exitCode;
}

/** `agent pipe`: stdin and stdout are a connection to the agent that serves this home. */
const pipeToAgent = () => pipe(readConfig(process.env).socket, process.stdin, process.stdout);

const isPipe = process.argv[2] === "pipe";

(isPipe ? pipeToAgent().then(() => 0) : main()).then(
  (exitCode) => process.exit(exitCode),
  (error: unknown) => {
    const { type, message, cause } = toAppError(error);
    if (isPipe) console.error(message);
    else
      openLog("agent", "info").error({ type, error: cause ?? message }, "the agent cannot go on");
    process.exit(errorTypes[type].exit);
  },
);
