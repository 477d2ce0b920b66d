import type { HookEvent } from "../../../contract/hooks.ts";
import type { Ground } from "../../ground.ts";
import type { StoredLifecycle } from "../lifecycles/schema.ts";
import { listLifecycles } from "../lifecycles/store.ts";
import type { Cluster } from "../schema.ts";
import type { Known } from "./log-choice.ts";
import { copyFileOf, listCopyFiles } from "./log-copy.ts";

/** What there is to choose from. */
export async function knownLogs(ctx: Ground, { id }: Cluster): Promise<Known> {
  const lifecycles = await listLifecycles(ctx.db, id);
  const files = await listCopyFiles(ctx, id);
  return {
    lifecycles,
    hasCopy: (lifecycle, event) => files.has(fileOf(ctx, lifecycle, event)),
  };
}

/** Where the copy of a log lies, if there is one. */
export const fileOf = (ctx: Ground, { clusterId, id, rank }: StoredLifecycle, event: HookEvent) =>
  copyFileOf(ctx, { clusterId, lifecycleId: id, event, rank });
