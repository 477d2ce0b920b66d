import { createHash } from "node:crypto";
import { agentOperations } from "../../../contract/agent-api.ts";
import type { Health } from "../../../contract/agent-shapes.ts";
import type { Hook, HookEvent } from "../../../contract/hooks.ts";
import type { HookSet } from "../../../contract/lifecycle-shapes.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import type { Cluster } from "../schema.ts";
import { keptHooks } from "./kept.ts";

/** What nodes are told of the hooks of their cluster. */

const noHooks: HookSet = { version: "none", hooks: [], env: {}, secrets: {} };

/** What the nodes of a cluster are told of its hooks. */
export async function hookSetOf(ctx: Ground, cluster: Cluster): Promise<HookSet> {
  const version = versionOf(cluster);
  if (version === noHooks.version) return noHooks;
  const { hooks, env, secrets } = await keptHooks(ctx, cluster.id);
  const copies = entriesOf(hooks, cluster).map((entry) => ({
    ...entry,
    events: [...entry.events],
  }));
  return { version, hooks: copies, env, secrets };
}

/** The hooks of a cluster as they run: the older one of its autostop comes before the list. */
export const entriesOf = (
  hooks: readonly Hook[],
  { autostop }: Pick<Cluster, "autostop">,
): readonly Hook[] =>
  autostop?.hook
    ? [{ ...autostop.hook, events: [autostop.down ? "down" : "stop"] }, ...hooks]
    : hooks;

/** Another text for other hooks, also where only autostop changed. */
function versionOf({ hooksVersion, autostop }: Cluster): string {
  const hook = autostop?.hook ?? null;
  if (hook === null) return hooksVersion ?? noHooks.version;
  const parts = JSON.stringify([hooksVersion, hook, autostop?.down]);
  return createHash("sha256").update(parts).digest("base64url").slice(0, 22);
}

/** Whether the nodes of a cluster need not be told again of their hooks. */
export const haveSameHooks = (before: Cluster, now: Cluster): boolean =>
  versionOf(before) === versionOf(now);

/** Whether a node has the hooks of its cluster. */
export const knowsHooks = ({ hooksVersion }: Health, cluster: Cluster): boolean =>
  (hooksVersion ?? noHooks.version) === versionOf(cluster);

/** Whether a cluster has hooks for an event. */
export async function hasHooks(ctx: Ground, cluster: Cluster, event: HookEvent) {
  const { hooks } = await hookSetOf(ctx, cluster);
  return hooks.some(({ events }) => events.includes(event));
}

/** Tells nodes of their hooks; a lifecycle that is under way keeps those it began with. */
export async function tellHooks(
  ctx: Context,
  cluster: Cluster,
  ranks: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  const hooks = await hookSetOf(ctx, cluster);
  const tell = (rank: number) =>
    ctx.agent(cluster, rank).call(agentOperations.putHooks, hooks, { signal });
  await Promise.all(ranks.map(tell));
}
