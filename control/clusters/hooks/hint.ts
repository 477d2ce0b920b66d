import { product } from "../../../common/product.ts";
import type { Context } from "../../context.ts";
import { listOpen } from "../lifecycles/store.ts";
import type { Cluster } from "../schema.ts";
import { nameOf, runningOf } from "./time.ts";

/** Which hook holds a cluster up, for how long at most, and what to do about it; nothing when none does. */
export async function hookHint(
  ctx: Context,
  { id, name }: Pick<Cluster, "id" | "name">,
): Promise<string> {
  for (const lifecycle of await listOpen(ctx.db, id)) {
    const run = runningOf(lifecycle);
    if (run === undefined) continue;
    const most = run.timeoutSeconds === null ? "" : `, for ${run.timeoutSeconds} s at most`;
    const lines = [
      `${nameOf(run, lifecycle)} runs${most}; read along: ${product.word} logs --hook ${name}`,
      ...(run.event === "preemption" ? [] : [waysOut(run.event, name)]),
    ];
    return lines.map((line) => `${line}\n`).join("");
  }
  return "";
}

const waysOut = (event: "stop" | "down", name: string): string =>
  `Ctrl-C leaves it running; to end it: ${product.word} ${event} ${name} --skip-hooks`;
