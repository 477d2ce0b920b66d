import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describeSurvivors } from "../common/end-processes.ts";
import type { Log } from "../common/log.ts";
import type { Forwarder } from "./forwarder.ts";
import type { Wrapped } from "./wrap.ts";

const endings = ["SIGTERM", "SIGINT"] as const;

/** Signals that are for the command alone. */
const passedOn = ["SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

/** Hands a command the signals that are for it. */
export function passSignals(wrapped: Wrapped): void {
  for (const signal of passedOn) process.on(signal, () => wrapped.signal(signal));
}

/**
 * Answers what is under way, up to the deadline, and only then ends the command that answers it, which
 * has as long again; a second signal ends it at once. Answers the exit code.
 */
export async function endAll(
  forwarder: Forwarder,
  wrapped: Wrapped | undefined,
  deadlineMs: number,
  log: Log,
): Promise<number> {
  const again = () => wrapped?.signal("SIGTERM");
  for (const signal of endings) process.on(signal, again);
  const left = await forwarder.drain(deadlineMs);
  if (left > 0) log.warn({ requests: left }, "closed requests that were still in progress");
  return wrapped === undefined ? 0 : endCommand(wrapped, deadlineMs, log);
}

const killedCode = 128 + constants.signals.SIGKILL;

async function endCommand(wrapped: Wrapped, graceMs: number, log: Log): Promise<number> {
  wrapped.signal("SIGTERM");
  const code = await Promise.race([wrapped.exited, sleep(graceMs)]);
  if (code !== undefined) return code;
  log.warn({ graceMs }, "the command did not end, and is killed");
  const left = await wrapped.kill();
  if (left.length > 0)
    log.error({ left: describeSurvivors(left) }, "some processes could not be killed");
  return killedCode;
}
