import { toAppError } from "../../common/errors.ts";
import type { JobSidecar } from "../../contract/agent-shapes.ts";
import type { Agent } from "../context.ts";
import { countMemoryKills, memoryGroupsOf } from "../control-groups.ts";
import { addedTo } from "../environment.ts";
import { portVariables, wrapScript } from "../jobs/sidecar.ts";
import { isBegun, type Outcome, runScript, type Script } from "../process.ts";
import { openContainer, type Running, whyEnded } from "./container.ts";
import { anyEngineOf, type Container, findSettings } from "./engine.ts";
import { enterContainer } from "./enter.ts";
import { dropNote, noteContainer, readNote } from "./use.ts";

/** A script, and the sidecar that it is to run behind. */
interface Given extends Omit<Script, "through" | "isContained" | "kept"> {
  readonly sidecar?: JobSidecar | undefined;
}

/** Runs a script as `runScript`, in the container of the node where it has one. */
export async function runOnNode(agent: Agent, given: Given, signal: AbortSignal): Promise<Outcome> {
  const { sidecar, ...script } = given;
  const env = { ...script.env, ...(sidecar && portVariables(sidecar)) };
  const kept = addedTo(agent.config.baseEnv, env);
  const container = await containerFor(agent, script, signal).catch((error: unknown) => ({
    lost: `its container does not run: ${toAppError(error).message}`,
    begun: false,
  }));
  // It may have been cancelled while its container was started.
  signal.throwIfAborted();
  if (container && "lost" in container) return container;
  const plain = { env, through: [] };
  const inside =
    container === undefined ? plain : enterContainer(agent, container, { ...script, env });
  const wrapped = sidecar === undefined ? inside : wrapScript(sidecar, inside);
  const isContained = container !== undefined;
  const outcome = await runScript({ ...script, ...wrapped, kept, isContained }, signal);
  if (container === undefined) return outcome;
  if ("code" in outcome)
    return outcome.code > signalled && isOutOfMemory(container)
      ? { ...outcome, why: "a process in its container was killed for lack of memory" }
      : outcome;
  const lost = outcome.begun ? await whyEnded(container, signal) : undefined;
  return lost === undefined ? outcome : { lost, begun: true };
}

/** A container as a script finds it: with the control group of its memory, and how many were killed for that before. */
interface Entered extends Container {
  readonly memoryGroups: readonly string[];
  readonly kills: number;
}

/** A shell adds the number of the signal that ended what it ran. */
const signalled = 128;

const isOutOfMemory = ({ memoryGroups, kills }: Entered): boolean =>
  countMemoryKills(memoryGroups) > kills;

/** The container of a script that begins now, or of one that had begun there. */
async function containerFor(
  agent: Agent,
  script: Pick<Script, "folder" | "name">,
  signal: AbortSignal,
): Promise<Entered | undefined> {
  const settings = findSettings(agent);
  if (settings === undefined) return undefined;
  const [id, kills, ...memoryGroups] = (isBegun(script) && readNote(script)) || [];
  if (id !== undefined)
    return { engine: anyEngineOf(agent), id, kills: Number(kills), memoryGroups };
  dropNote(script);
  const enter = (container: Running) => {
    const memoryGroups = memoryGroupsOf(container.pid);
    const kills = countMemoryKills(memoryGroups);
    noteContainer(script, container.id, kills, ...memoryGroups);
    return { ...container, kills, memoryGroups };
  };
  return openContainer(agent, settings, enter, signal);
}
