import { join } from "node:path";
import { appendTo } from "../../common/files.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { clusterKey } from "./schema.ts";

/** The file that tells how a cluster came to be; it outlives the cluster. */
export const provisionLogOf = (ctx: Ground, clusterId: string): string =>
  join(ctx.config.home, "control", "clusters", clusterId, "provision.log");

/** Adds a line to the provisioning log, and wakes those who wait for the cluster. */
export function narrate(ctx: Ground, clusterId: string, line: string): void {
  const file = provisionLogOf(ctx, clusterId);
  appendTo(file, `${line}\n`);
  ctx.changes.notify(clusterKey(clusterId));
}

/** Tells of what happened to a cluster besides its moves: as an event, which every log has. */
export async function remark(
  ctx: Ground,
  clusterId: string,
  line: string,
  isNoteworthy = false,
): Promise<void> {
  const event = { noun: "cluster", id: clusterId, reason: line, isNoteworthy, at: ctx.now() };
  await ctx.batch((tx) => addEvent(tx, event));
}

/** How long something took, for people: `0.42 s`. */
export const elapsed = (since: Date, now: Date): string =>
  `${((now.getTime() - since.getTime()) / 1000).toFixed(2)} s`;
