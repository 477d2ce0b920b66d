import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import type { StoredLifecycle } from "../lifecycles/schema.ts";
import { type Cluster, clusterKey } from "../schema.ts";
import { type Choice, mayHaveLog, togetherWith } from "./log-choice.ts";
import { followHookLog, type HookLog } from "./log-follow.ts";
import { fileOf, knownLogs } from "./log-known.ts";

/** What a reader wants of the log that was chosen. */
export interface Reading {
  readonly cluster: Cluster;
  /** Wait for more until the hooks are over. */
  readonly follow: boolean;
  /** Only the last lines of each node; 0 is everything. */
  readonly tail: number;
}

/** Longer lines are cut. */
const lineAtMost = 2 ** 20;

/** Prints a log line by line; false when there was nothing after all. */
export async function printHookLog(
  ctx: Context,
  reading: Reading,
  choice: Choice,
  call: Call,
): Promise<boolean> {
  const { nodes } = reading.cluster;
  const isSpread = choice.event === "preemption" && nodes > 1;
  const ranks = isSpread ? [...Array(nodes).keys()] : [choice.lifecycle.rank];
  const found = ranks.map(async (rank) => {
    const source = await sourceOf(ctx, reading, choice, rank, call.signal);
    if (source === undefined) return false;
    const prefix = isSpread ? `(rank ${rank}) ` : "";
    for await (const lines of linesOf(followHookLog(ctx, source, call.signal)))
      call.print(lines.map((line) => `${prefix}${line}\n`).join(""));
    return (await knownLogs(ctx, reading.cluster)).hasCopy(source.lifecycle, source.event);
  });
  return (await Promise.all(found)).includes(true);
}

/** The log of one node, once it has one; undefined when all is over without. */
async function sourceOf(
  ctx: Ground,
  reading: Reading,
  { event, lifecycle: chosen }: Choice,
  rank: number,
  signal: AbortSignal,
): Promise<HookLog | undefined> {
  const { cluster, follow } = reading;
  const look = async () => {
    const known = await knownLogs(ctx, cluster);
    const isChosen = (one: StoredLifecycle) => one.id === chosen.id && one.rank === chosen.rank;
    const lifecycle = known.lifecycles.find(isChosen) ?? chosen;
    const group = togetherWith(known, { event, lifecycle });
    const own = group.find((one) => one.rank === rank && mayHaveLog(known, one, event));
    const isOver = !follow || group.every(({ status }) => status !== "HOOKS");
    return own ?? (isOver ? null : undefined);
  };
  const own = await ctx.changes.until(clusterKey(cluster.id), look, signal);
  if (own === null) return undefined;
  return { ...reading, event, lifecycle: own, file: fileOf(ctx, own, event) };
}

/** What ended since, in whole lines without their ends. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    const last = lines.at(-1) ?? "";
    rest = last.length > lineAtMost ? "" : last;
    if (rest === last) lines.pop();
    if (lines.length > 0) yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}
