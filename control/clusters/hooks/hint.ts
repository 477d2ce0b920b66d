import { product } from "../../../common/product.ts";
import type { HookEvent } from "../../../contract/hooks.ts";
import type { HookRun } from "../../../contract/lifecycle-shapes.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { listOpen } from "../lifecycles/store.ts";
import type { Cluster } from "../schema.ts";
import { keptHooks } from "./kept.ts";
import { nameOf, runningOf } from "./time.ts";
import { entriesOf } from "./told.ts";

/** Which of a cluster's hooks run before it leaves; nothing where all or none of them do. */
export async function chosenHooks(
  ctx: Ground,
  cluster: Cluster,
  event: "stop" | "down",
): Promise<string> {
  const { hooks } = await keptHooks(ctx, cluster.id);
  const entries = entriesOf(hooks, cluster);
  const chosen = entries.flatMap(({ events }, at) => (events.includes(event) ? [at + 1] : []));
  if (chosen.length === 0 || chosen.length === entries.length) return "";
  return `hooks for ${event}: ${chosen.join(", ")} of ${entries.length}\n`;
}

/**
 * What tells, once each, which hooks hold a cluster up and for how long at most; with the first, how to
 * read along and what to do about it.
 */
export function openHookHints(ctx: Context): (cluster: Cluster) => Promise<string> {
  const told = new Set<string>();
  return async ({ id, name }) => {
    for (const lifecycle of await listOpen(ctx.db, id)) {
      const run = runningOf(lifecycle);
      if (run === undefined) continue;
      const key = `${lifecycle.id} ${run.index} ${run.event}`;
      if (told.has(key)) continue;
      const ways = told.size === 0 ? waysOf(run, name) : "";
      told.add(key);
      const most = run.timeoutSeconds === null ? "" : `, for ${run.timeoutSeconds} s at most`;
      return `${nameOf(run, lifecycle)} runs${most}${ways}\n`;
    }
    return "";
  };
}

const waysOf = ({ event }: HookRun, name: string): string =>
  [`; follow it: ${product.word} logs --hook ${name}`, ...waysOut(event, name)].join("\n");

const waysOut = (event: HookEvent, name: string): string[] =>
  event === "preemption"
    ? []
    : [`Ctrl-C leaves it running; to end it: ${product.word} ${event} ${name} --skip-hooks`];
