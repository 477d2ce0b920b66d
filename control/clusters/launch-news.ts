import type { Task } from "../../contract/task.ts";
import type { Context } from "../context.ts";
import { describeMachines } from "../offer-words.ts";
import { autostopNews } from "./autostop.ts";
import type { Claim } from "./claim.ts";
import { bringsHooks, keptHooks } from "./hooks/kept.ts";
import { entriesOf } from "./hooks/told.ts";
import { hooksLine, remarkOnNotice } from "./hooks/view.ts";
import type { Cluster } from "./schema.ts";

/** What people are told of a launch: nothing is decided here. */

/** The lines about the cluster that a launch has: its machines, and what the launch set. */
export async function launchNews(
  ctx: Context,
  { cluster, before }: Claim,
  task: Task,
): Promise<string> {
  const { hooks } = await keptHooks(ctx, cluster.id);
  return [
    machinesLine(cluster),
    autostopNews(cluster.autostop, before?.autostop),
    hooksLine(entriesOf(hooks, cluster), !bringsHooks(task)),
    await noticeOn(ctx, cluster, task),
  ].join("");
}

/** The lines about the machines that a launch would take. */
export const planNews = (
  ctx: Context,
  machines: Pick<Cluster, "name" | "nodes" | "offer">,
  task: Task,
): string => machinesLine(machines) + noticeLine(ctx, machines, task);

const machinesLine = (machines: Pick<Cluster, "name" | "nodes" | "offer">): string =>
  `Cluster ${machines.name}: ${describeMachines(machines)}\n`;

/** As `noticeLine`, by the notice of the nodes that the cluster has, where it has any. */
async function noticeOn(ctx: Context, cluster: Cluster, { hooks = [] }: Task): Promise<string> {
  const provider = ctx.provider(cluster.provider);
  if (hooks.length === 0) return "";
  return remarkOnNotice(provider, hooks, await provider.noticeOf?.(cluster).catch(() => undefined));
}

const noticeLine = (ctx: Context, { offer }: Pick<Cluster, "offer">, { hooks }: Task): string =>
  remarkOnNotice(ctx.provider(offer.provider), hooks);
