import { setTimeout as sleep } from "node:timers/promises";
import { count } from "../../common/count.ts";
import { fail } from "../../common/errors.ts";
import { isAlive } from "../../common/process-tree.ts";
import { product } from "../../common/product.ts";
import { addressOf, findControl } from "../control-process.ts";
import { openProgress } from "../progress.ts";
import { type Client, openClient } from "../sdk.ts";
import { listClusters } from "../selection.ts";
import { tokenFor } from "../token.ts";
import type { Run, World } from "../world.ts";
import { directAction, tellActions, tellDone } from "./actions.ts";

const stopLimitMs = 30_000;
const lookEveryMs = 50;
/** A control plane that hangs is stopped all the same. */
const askLimitMs = 2_500;

/** `outrigger api stop`. */
export const stop: Run<object> = async (world) => {
  const { terminal, settings } = world;
  const control = findControl(settings);
  if (control === undefined) {
    terminal.note(`No control plane is running for ${settings.home}.`);
    return tellActions(world, [directAction("api stop", null, "unchanged")]);
  }
  const left = await liveClusters(world, addressOf(control), "stop");
  const progress = openProgress(terminal);
  progress.step(`Stopping the control plane, pid ${control.pid}`);
  process.kill(control.pid, "SIGTERM");
  const deadline = Date.now() + stopLimitMs;
  while (isAlive(control)) {
    if (Date.now() > deadline) {
      progress.end("failed");
      fail("TimeoutError", `pid ${control.pid} did not end within ${stopLimitMs / 1_000} s`);
    }
    await sleep(lookEveryMs, undefined, { signal: world.signal });
  }
  progress.end("done");
  if (left.length > 0)
    terminal.note(
      `${count(left.length, "cluster")} ${left.length === 1 ? "keeps" : "keep"} running: ${left.join(", ")}`,
    );
  return tellDone(world, "api stop", null);
};

/** The clusters that are not stopped, of everyone; none where control does not say so in time. */
export async function liveClusters(
  world: World,
  endpoint: string | undefined,
  verb: "start" | "stop",
): Promise<readonly string[]> {
  const clusters = await askHome(world, endpoint, verb, (client) => listClusters(client, [], true));
  return (clusters ?? []).filter(({ status }) => status !== "STOPPED").map(({ name }) => name);
}

/** Asks the control plane of the home; undefined where it does not answer in time. */
export async function askHome<T>(
  { settings, signal }: World,
  endpoint: string | undefined,
  verb: "start" | "stop",
  ask: (client: Client) => Promise<T>,
): Promise<T | undefined> {
  if (endpoint === undefined) return undefined;
  const client = openClient({
    ...{ endpoint, token: tokenFor(settings, endpoint) },
    origin: `${product.word} api ${verb}`,
    signal: AbortSignal.any([signal, AbortSignal.timeout(askLimitMs)]),
  });
  try {
    return await ask(client);
  } catch {
    return undefined;
  } finally {
    await client.close();
  }
}
