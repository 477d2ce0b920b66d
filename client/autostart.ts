import { once } from "node:events";
import { connect } from "node:net";
import { AppError, errorCodeOf } from "../common/errors.ts";
import { controlEnv, findControl, logFileOf } from "./control-process.ts";
import { isOfHome } from "./settings.ts";
import { addressIn } from "./token.ts";
import type { World } from "./world.ts";

const probeLimitMs = 1_000;

/**
 * Starts the control plane of our home and says so, if nothing names another one, none runs, and nothing else
 * listens where it would; waits for one that is starting. Returns whether the settings are to be read again.
 */
export async function startIfNone(world: World): Promise<boolean> {
  const { settings, terminal, signal } = world;
  const { kind } = settings.origins.endpoint;
  if (settings.autostart === "off" || !isOfHome(settings) || kind === "home") return false;
  const isStarting = findControl(settings) !== undefined;
  if (!isStarting && !(await isFree(settings.endpoint, signal))) return false;
  const { startControl, untilHealthy } = await import("./start-control.ts");
  try {
    if (isStarting) await untilHealthy(world);
    else tellStarted(world, await startControl(world, controlEnv(world.env, settings, {})));
  } catch (error) {
    // Another command was faster.
    const isTaken = error instanceof AppError && error.type === "ConflictError";
    if (!isTaken || findControl(settings) === undefined) throw error;
    terminal.note("Another command has started it.");
    await untilHealthy(world);
  }
  return true;
}

function tellStarted({ settings, terminal }: World, address: string): void {
  const dim = (text: string) => terminal.paintNote("dim", text);
  terminal.note(`No control plane was running; this is a new one at ${address}.`);
  terminal.note(`${dim("log   ")}${logFileOf(settings)}`);
  terminal.note(`${dim("stop  ")}outrigger api stop`);
}

/** Whether connections to an address of this machine are refused. */
async function isFree(endpoint: string, signal: AbortSignal): Promise<boolean> {
  const socket = connect(addressIn(endpoint));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(probeLimitMs)]);
  try {
    await once(socket, "connect", { signal: limit });
    return false;
  } catch (error) {
    return errorCodeOf(error) === "ECONNREFUSED";
  } finally {
    socket.destroy();
  }
}
