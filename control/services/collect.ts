import { rm } from "node:fs/promises";
import type { Ground } from "../ground.ts";
import { serviceFolder } from "./folders.ts";
import { dropService, listGoneServices } from "./store.ts";

const dayMs = 86_400_000;

/** Forgets services, with their logs, that are gone for longer than the setting says of clusters. */
export async function collectServices(ctx: Ground): Promise<void> {
  const { clusterHistoryDays: days } = ctx.config;
  if (days < 0) return;
  for (const id of await listGoneServices(ctx.db, ctx.now().getTime() - days * dayMs)) {
    await rm(serviceFolder(ctx, id), { recursive: true, force: true });
    await ctx.batch((tx) => dropService(tx, id));
  }
}
