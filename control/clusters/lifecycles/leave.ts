import type { Ground } from "../../ground.ts";
import { hold } from "../../want.ts";
import { runningOf } from "../hooks/time.ts";
import { hasHooks } from "../hooks/told.ts";
import { type Cluster, clusterKey, eventOf } from "../schema.ts";
import { write } from "./adopt.ts";
import { without } from "./news.ts";
import { putLifecycle } from "./store.ts";
import { findOpenOfHead, newLifecycle } from "./wanted.ts";

/** From here on the provider is called: nothing is taken back. Nothing happens when it just was. */
export async function leave(ctx: Ground, cluster: Cluster): Promise<void> {
  await ctx.batch(async (tx) => {
    if (!(await hold(tx, "cluster", cluster))) return;
    const head = await findOpenOfHead(tx, cluster);
    if (head !== undefined) await putLifecycle(tx, { ...head, status: "LEAVING" });
  });
  ctx.changes.notify(clusterKey(cluster.id));
}

/** As `leave`, though hooks that should run before cannot; an event says so. */
export async function leaveWithout(ctx: Ground, cluster: Cluster, loss: string): Promise<void> {
  const event = eventOf(cluster);
  const hasAny = await hasHooks(ctx, cluster, event);
  await ctx.batch(async (tx) => {
    if (!(await hold(tx, "cluster", cluster))) return;
    const head = (await findOpenOfHead(tx, cluster)) ?? newLifecycle(ctx, cluster);
    const isLoss = head.status === "HOOKS" && (hasAny || runningOf(head) !== undefined);
    const kept = head.events.filter((before) => before === "preemption" || before === event);
    const events = [...new Set([...kept, event])];
    const now = without({ ...head, events }, "LEAVING", ctx.now().getTime());
    await write(ctx, tx, cluster, head, now, isLoss ? [loss] : []);
  });
  ctx.changes.notify(clusterKey(cluster.id));
}
