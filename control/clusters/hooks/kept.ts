import { randomUUID } from "node:crypto";
import { envOf } from "../../../common/product.ts";
import type { Hook } from "../../../contract/hooks.ts";
import type { HookSet } from "../../../contract/lifecycle-shapes.ts";
import type { Task } from "../../../contract/task.ts";
import type { Ground } from "../../ground.ts";
import type { Offer } from "../../providers/provider.ts";
import type { User } from "../../requests/schema.ts";
import { secretVariablesOf } from "../../task.ts";
import { hookOf } from "../autostop.ts";
import type { Cluster } from "../schema.ts";
import { findHooks, type StoredHooks } from "./store.ts";

/** What lies sealed in a cluster's row: a list, and what its document has them run in. */
export interface KeptHooks extends Pick<HookSet, "env" | "secrets"> {
  readonly hooks: readonly Hook[];
}

/** Who launches a task where, as its hooks are told. */
interface Launched {
  readonly name: string;
  readonly nodes: number;
  readonly offer: Pick<Offer, "provider" | "region" | "zone">;
  readonly user: User;
  /** What was kept of the launches before. */
  readonly before: KeptHooks;
  readonly autostop: Cluster["autostop"];
}

/** What is kept before the first launch. */
export const noneKept: KeptHooks = { hooks: [], env: {}, secrets: {} };

/**
 * What a launch leaves of its cluster's hooks; undefined where it changes nothing. A document that
 * has hooks of either kind brings its environment along, as does any where there is no hook yet: one
 * may come with autostop later.
 */
export function launchedHooks(
  ctx: Ground,
  task: Task,
  launched: Launched,
): StoredHooks | undefined {
  const { before, autostop } = launched;
  const hooks = task.hooks ?? before.hooks;
  const isAny = hooks.length > 0 || (autostop?.hook ?? null) !== null;
  if (isAny && !bringsHooks(task)) return undefined;
  const env = { ...variablesOf(launched), ...task.envs };
  const kept: KeptHooks = { hooks, env, secrets: secretVariablesOf(task) };
  return { sealed: ctx.seal.seal(JSON.stringify(kept)), version: isAny ? randomUUID() : null };
}

/** The hooks of a cluster that is given another offer; undefined where nothing of them changes. */
export async function movedHooks(
  ctx: Ground,
  cluster: Cluster,
  offer: Offer,
): Promise<StoredHooks | undefined> {
  const kept = await keptHooks(ctx, cluster.id);
  const before = variablesOf(cluster);
  const after = Object.entries(variablesOf({ ...cluster, offer }));
  // The task's own variables stay.
  const changed = after.filter(
    ([name, value]) => kept.env[name] === before[name] && before[name] !== value,
  );
  if (changed.length === 0) return undefined;
  const moved: KeptHooks = { ...kept, env: { ...kept.env, ...Object.fromEntries(changed) } };
  return { sealed: ctx.seal.seal(JSON.stringify(moved)), version: cluster.hooksVersion };
}

/** Whether a document says something of hooks, in either way; else those of before are kept. */
export const bringsHooks = ({ hooks, resources }: Task): boolean =>
  hooks !== undefined || hookOf(resources.autostop) !== undefined;

/** What was kept of the launches of a cluster. */
export async function keptHooks(ctx: Ground, id: string): Promise<KeptHooks> {
  const sealed = await findHooks(ctx.db, id);
  return sealed === null ? noneKept : openHooks(ctx, sealed);
}

/** What lies sealed in the row of a cluster. */
export const openHooks = (ctx: Ground, sealed: Uint8Array): KeptHooks =>
  JSON.parse(ctx.seal.open(sealed));

/** What jobs are told as well; the task's own variables lie above. */
function variablesOf({
  name,
  nodes,
  offer,
  user,
}: Pick<Launched, "name" | "nodes" | "offer" | "user">): Record<string, string> {
  const { provider: cloud, region, zone } = offer;
  return {
    ...envOf("USER", user.name),
    ...envOf("NUM_NODES", String(nodes)),
    ...envOf("CLUSTER_INFO", JSON.stringify({ cluster_name: name, cloud, region, zone })),
  };
}
