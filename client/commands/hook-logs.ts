import { AppError, fail } from "../../common/errors.ts";
import { type HookEvent, hookEvents } from "../../contract/hooks.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { interruptedExit } from "../declined.ts";
import { openLogSink } from "../log-lines.ts";
import type { World } from "../world.ts";
import { isLost } from "./detached.ts";

/** Which log of hooks a command line asks for. */
export interface HookLogChoice {
  readonly cluster: string;
  /** Null leaves it to control: the one that hooks run for, else the newest. */
  readonly event: HookEvent | null;
  /** The word was alone and is an event: its cluster may have been forgotten. */
  readonly isLone: boolean;
}

/**
 * Reads what follows `--hook`, true when nothing does, and the operands. A word that stands alone
 * names the cluster; of two the one that is no event does, and the last one when both are.
 * Throws `UsageError`.
 */
export function hookLogChoice(word: string | true, operands: readonly string[]): HookLogChoice {
  const words = word === true ? operands : [word, ...operands];
  const [first, second, ...rest] = words;
  if (first === undefined) fail("UsageError", `name the cluster: ${example("CLUSTER")}`);
  if (second === undefined)
    return { cluster: first, event: null, isLone: word !== true && isEvent(first) };
  if (rest.length > 0 || word === true)
    fail("UsageError", `--hook takes an event and a cluster, and no job: ${example("stop dev")}`);
  if (isEvent(first)) return { cluster: second, event: first, isLone: false };
  if (isEvent(second)) return { cluster: first, event: second, isLone: false };
  return fail(
    "UsageError",
    `neither ${first} nor ${second} is a hook event (${hookEvents.join(", ")}); such as: ${example(`stop ${second}`)}`,
  );
}

const example = (words: string) => `outrigger logs --hook ${words}`;

const isEvent = (word: string): word is HookEvent =>
  (hookEvents as readonly string[]).includes(word);

/** Shows what hooks wrote; throws `NotFoundError` where nothing is to be shown. */
export async function showHookLog(
  world: World,
  { cluster, event, isLone }: HookLogChoice,
  { grep, ...reading }: Reading,
): Promise<number> {
  const input = { cluster_name: cluster, event, ...reading };
  const sink = openLogSink(world, { ...(grep && { grep }), of: { cluster } });
  const client = await world.connect();
  const id = await client.call(clusterOperations.hookLogs, input);
  try {
    await client.stream(id, sink).finally(sink.end);
    return await client.get(id);
  } catch (error) {
    if (world.signal.aborted) {
      world.terminal.note(`\nThe hooks keep running. Follow them again: ${example(cluster)}`);
      return interruptedExit;
    }
    if (isLost(error))
      world.terminal.note(
        `The hooks keep running. Once the control plane is back: ${example(cluster)}`,
      );
    if (isLone && error instanceof AppError && error.type === "ClusterDoesNotExist")
      fail("UsageError", `name the cluster: ${example(`${cluster} CLUSTER`)}`);
    throw error;
  }
}

interface Reading {
  readonly follow: boolean;
  readonly tail: number;
  readonly grep: RegExp | undefined;
}
