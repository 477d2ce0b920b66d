import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifMissing } from "../../../common/files.ts";
import type { HookEvent } from "../../../contract/hooks.ts";
import type { Ground } from "../../ground.ts";
import { provisionLogOf } from "../provision-log.ts";

/** What one node's hooks wrote for one event of one lifecycle. */
export interface HookLogName {
  readonly clusterId: string;
  readonly lifecycleId: string;
  readonly event: HookEvent;
  readonly rank: number;
}

/** Wakes those who read hook logs of a cluster. */
export const hookLogKey = (clusterId: string): string => `hook-logs:${clusterId}`;

/** They lie with all else that is kept of their cluster. */
const folderOf = (ctx: Ground, clusterId: string): string =>
  join(dirname(provisionLogOf(ctx, clusterId)), "hooks");

const idPattern = /^[\w-]{1,64}$/;

/** Whether there may be copies of a lifecycle: a node belongs to its user, who may call one anything. */
export const canNameFolder = (lifecycleId: string): boolean => idPattern.test(lifecycleId);

/** The folder of all copies of a lifecycle. */
export const copyFolderOf = (
  ctx: Ground,
  { clusterId, id }: { readonly clusterId: string; readonly id: string },
): string => join(folderOf(ctx, clusterId), id);

/** The file of a copy. */
export function copyFileOf(ctx: Ground, { clusterId, lifecycleId, event, rank }: HookLogName) {
  const name = rank === 0 ? `${event}.log` : `${event}.${rank}.log`;
  return join(copyFolderOf(ctx, { clusterId, id: lifecycleId }), name);
}

/** The files of all copies that there are of a cluster's logs. */
export async function listCopyFiles(ctx: Ground, clusterId: string): Promise<Set<string>> {
  const folder = folderOf(ctx, clusterId);
  const names = await readdir(folder, { recursive: true }).catch(ifMissing([]));
  return new Set(names.filter((name) => name.endsWith(".log")).map((name) => join(folder, name)));
}
