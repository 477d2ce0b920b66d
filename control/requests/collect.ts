import type { Context } from "../context.ts";
import { dropRequests, listEndedBefore } from "./store.ts";

const atOnce = 500;
const hourMs = 3_600_000;

/** How long there is to fetch what a request read. */
const readsMs = 10 * 60_000;

/** Forgets what was read some minutes ago. */
export async function collectReads({ reads, requestLogs, now }: Context): Promise<void> {
  const ids = reads.drop(now().getTime() - readsMs);
  await Promise.all(ids.map((id) => requestLogs.remove(id)));
}

/** Forgets requests, with their logs, that ended longer ago than the setting says. */
export async function collectRequests(ctx: Context): Promise<void> {
  const { requestRetentionHours: hours } = ctx.config;
  if (hours < 0) return;
  const before = ctx.now().getTime() - hours * hourMs;
  for (;;) {
    const ids = await listEndedBefore(ctx.db, before, atOnce);
    if (ids.length === 0) return;
    // First, so that no crash leaves a text that nothing knows of any more.
    await Promise.all(ids.map((id) => ctx.requestLogs.remove(id)));
    await ctx.batch((tx) => dropRequests(tx, ids));
    if (ids.length < atOnce) return;
  }
}
