import type { Context } from "../context.ts";
import { dropEnded } from "./store.ts";

const atOnce = 500;
const hourMs = 3_600_000;

/** Forgets requests, with their logs, that ended longer ago than the setting says. */
export async function collectRequests(ctx: Context): Promise<void> {
  const { requestRetentionHours: hours } = ctx.config;
  if (hours < 0) return;
  const before = ctx.now().getTime() - hours * hourMs;
  for (;;) {
    const ids = await ctx.batch((tx) => dropEnded(tx, before, atOnce));
    await Promise.all(ids.map((id) => ctx.requestLogs.remove(id)));
    if (ids.length < atOnce) return;
  }
}
