import { glob, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pagesOf } from "../db/lists.ts";
import { clientsOf } from "../downloads.ts";
import type { Ground } from "../ground.ts";
import { listCounting } from "../workspaces/use.ts";
import { dropClusters, listGone } from "./history-store.ts";
import { canNameFolder, copyFolderOf } from "./hooks/log-copy.ts";
import { arriveWithinMs } from "./late-nodes.ts";
import { dropLifecycle, listClusterIds, listSurplus } from "./lifecycles/store.ts";
import { provisionLogOf } from "./provision-log.ts";

const atOnce = 100;
const dayMs = 86_400_000;

/**
 * Forgets clusters, with all that was kept of them, that are gone for longer than the setting says; but
 * not while a node of them may still arrive. What they cost this month is kept where the workspace has a
 * limit on that.
 */
export async function collectClusters(ctx: Ground): Promise<void> {
  const { clusterHistoryDays: days } = ctx.config;
  if (days < 0) return;
  const now = ctx.now();
  const before = now.getTime() - Math.max(days * dayMs, arriveWithinMs);
  const counting = {
    workspaces: await listCounting(ctx),
    since: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1),
  };
  for (;;) {
    const ids = await listGone(ctx.db, { before, counting }, atOnce);
    if (ids.length === 0) return;
    const folders = ids.map((id) => dirname(provisionLogOf(ctx, id)));
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
    await ctx.batch((tx) => dropClusters(tx, ids));
    if (ids.length < atOnce) return;
  }
}

/** Forgets lifecycles of live clusters that are too old to be shown, with what their hooks wrote. */
export async function collectLifecycles(ctx: Ground): Promise<void> {
  const pages = pagesOf((last: string | undefined) => listClusterIds(ctx.db, last ?? ""));
  for await (const clusterIds of pages) await dropSurplus(ctx, clusterIds);
}

async function dropSurplus(ctx: Ground, clusterIds: readonly string[]): Promise<void> {
  const old = await listSurplus(ctx.db, clusterIds);
  if (old.length === 0) return;
  const folders = old.filter(({ id }) => canNameFolder(id)).map((one) => copyFolderOf(ctx, one));
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  await ctx.batch(async (tx) => {
    for (const one of old) await dropLifecycle(tx, one);
  });
}

/** Deletes the copies of logs that were made for a download more than a day ago. */
export async function collectDownloads(ctx: Ground): Promise<void> {
  const before = ctx.now().getTime() - dayMs;
  const cwd = clientsOf(ctx);
  for await (const name of glob("*/logs/*/*.log", { cwd })) {
    const file = join(cwd, name);
    // A folder goes as a whole: the rest of its files is gone then.
    const { mtimeMs = Number.POSITIVE_INFINITY } = (await stat(file).catch(() => undefined)) ?? {};
    if (mtimeMs < before) await rm(dirname(file), { recursive: true, force: true });
  }
}
