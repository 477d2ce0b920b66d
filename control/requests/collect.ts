import type { Context } from "../context.ts";
import { dropRequests, listEndedBefore, setEnded, setRunning } from "./store.ts";

const atOnce = 500;
const hourMs = 3_600_000;

/** How long a result is kept that could not be written down. */
const unwrittenMs = 10 * 60_000;

/** Ends the rows of requests that ended in memory while the disk was full; fails while it still is. */
export async function endUnwritten(ctx: Context): Promise<void> {
  for (const { id, ending, at } of ctx.unwritten.listEnded())
    await ctx.batch(async (tx) => {
      if (ending.status === "SUCCEEDED") await setRunning(tx, id);
      await setEnded(tx, id, ending, at);
    });
  ctx.unwritten.drop(ctx.now().getTime() - unwrittenMs);
}

/** Forgets requests, with their logs, that ended longer ago than the setting says. */
export async function collectRequests(ctx: Context): Promise<void> {
  const { requestRetentionHours: hours } = ctx.config;
  if (hours < 0) return;
  const before = ctx.now().getTime() - hours * hourMs;
  for (;;) {
    const ids = await listEndedBefore(ctx.db, before, atOnce);
    // First, so that no crash leaves a text that nothing knows of any more.
    await Promise.all(ids.map((id) => ctx.requestLogs.remove(id)));
    await ctx.batch((tx) => dropRequests(tx, ids));
    if (ids.length < atOnce) return;
  }
}
