import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { waitMs } from "../common/loop.ts";
import { type Agent, keys } from "./context.ts";
import { countTurnOff } from "./idle.ts";
import { findOpenLifecycle } from "./lifecycles/store.ts";
import type { Dismissal } from "./signals.ts";
import { untilDue } from "./timer.ts";

const run = promisify(execFile);

const retryMs = 1_000;
/** A command that takes longer is killed and tried again. */
const patienceMs = 60_000;

/**
 * Turns the node off once it was idle and is ready to go, and control has not come for it. Resolves
 * when that is done: a node that is ready runs nothing any more, so its agent may leave.
 */
export async function untilTurnedOff(agent: Agent): Promise<Dismissal> {
  for (;;) {
    const id = await untilUnattended(agent);
    const isOff = await turnOff(agent, id);
    if (isOff) return { because: "the node turned itself off", exitCode: 0 };
  }
}

/** The id of the idle lifecycle that nobody has taken for long enough. */
async function untilUnattended(agent: Agent): Promise<string> {
  const { changes, stopping, config } = agent;
  for (;;) {
    const id = await changes.until(keys.lifecycle, async () => findReady(agent), stopping);
    if (await stays(agent, id, config.selfStopAfterMs)) return id;
  }
}

/** Runs the command as often as it takes; false when somebody came meanwhile. */
async function turnOff(agent: Agent, id: string): Promise<boolean> {
  const { log, config } = agent;
  const { powerOffCommand: command } = config;
  const facts = { lifecycle: id, waitedMs: config.selfStopAfterMs, command };
  if (command === null) {
    log.warn(
      facts,
      "control did not stop the node, and the node has no command to turn itself off",
    );
    await stays(agent, id, Infinity);
    return false;
  }
  for (let failures = 0; findReady(agent) === id; failures += 1) {
    log.warn(facts, "control did not stop the node; turning it off");
    try {
      await run("/bin/sh", ["-c", command], { env: { ...config.baseEnv }, timeout: patienceMs });
      // The lifecycle stays open until the node is on again: no job that waits may begin here.
      countTurnOff(agent);
      return true;
    } catch (error) {
      log.error({ lifecycle: id, error }, "the node cannot turn itself off; trying again");
      await stays(agent, id, waitMs(retryMs, failures));
    }
  }
  return false;
}

/** Whether a lifecycle is ready all the time, from now on for so long. */
async function stays(agent: Agent, id: string, ms: number): Promise<boolean> {
  const endMs = agent.monotonic() + ms;
  const when = () => (findReady(agent) === id ? endMs : 0);
  await untilDue(agent, keys.lifecycle, when, agent.stopping);
  return findReady(agent) === id;
}

/** The idle lifecycle that only waits for the node to be turned off. */
function findReady(agent: Agent): string | undefined {
  const open = findOpenLifecycle(agent);
  return open?.cause === "idle" && open.status === "READY" ? open.id : undefined;
}
