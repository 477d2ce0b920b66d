import { type Loop, startLoop } from "../../common/loop.ts";
import type { Context } from "../context.ts";
import { dropEnded } from "./store.ts";

const everyMs = 10 * 60_000;
const atOnce = 500;
const hourMs = 3_600_000;

/** Forgets requests, with their logs, some time after they ended. */
export function startCollector(ctx: Context): Loop {
  return startLoop(
    everyMs,
    () => collect(ctx),
    (error) => ctx.log.warn({ err: error }, "old requests not collected"),
  );
}

/** One round: everything that ended longer ago than the setting says. */
export async function collect(ctx: Context): Promise<void> {
  const { requestRetentionHours: hours } = ctx.config;
  if (hours < 0) return;
  const before = ctx.now().getTime() - hours * hourMs;
  for (;;) {
    const ids = await ctx.batch((tx) => dropEnded(tx, before, atOnce));
    await Promise.all(ids.map((id) => ctx.requestLogs.remove(id)));
    if (ids.length < atOnce) return;
  }
}
