import type { Ground } from "../../ground.ts";
import { obsolete } from "../../reconciler.ts";
import { hold } from "../../want.ts";
import { runningOf } from "../hooks/time.ts";
import { hasHooks } from "../hooks/told.ts";
import { type Cluster, clusterKey, eventOf } from "../schema.ts";
import { write } from "./adopt.ts";
import { without } from "./news.ts";
import { putLifecycle } from "./store.ts";
import { findOpenOfHead, newLifecycle } from "./wanted.ts";

/** From here on the provider is called: nothing is taken back. Throws `obsolete` where it just was. */
export async function leave(ctx: Ground, cluster: Cluster): Promise<void> {
  const isHeld = await ctx.batch(async (tx) => {
    if (!(await hold(tx, "cluster", cluster))) return false;
    const head = await findOpenOfHead(tx, cluster);
    if (head !== undefined) await putLifecycle(tx, { ...head, status: "LEAVING" });
    return true;
  });
  if (!isHeld) throw obsolete;
  ctx.changes.notify(clusterKey(cluster.id));
}

/** As `leave`, though hooks that should run before cannot; an event says so. */
export async function leaveWithout(ctx: Ground, cluster: Cluster, loss: string): Promise<void> {
  const event = eventOf(cluster);
  const hasAny = await hasHooks(ctx, cluster, event);
  const isHeld = await ctx.batch(async (tx) => {
    if (!(await hold(tx, "cluster", cluster))) return false;
    const head = (await findOpenOfHead(tx, cluster)) ?? newLifecycle(ctx, cluster);
    const isLoss = head.status === "HOOKS" && (hasAny || runningOf(head) !== undefined);
    const kept = head.events.filter((before) => before === "preemption" || before === event);
    const events = [...new Set([...kept, event])];
    const now = without({ ...head, events }, "LEAVING", ctx.now().getTime());
    await write(ctx, tx, cluster, head, now, isLoss ? [loss] : []);
    return true;
  });
  if (!isHeld) throw obsolete;
  ctx.changes.notify(clusterKey(cluster.id));
}
