import { randomUUID } from "node:crypto";
import type { Connection, Queries } from "../../db/open.ts";
import type { Ground } from "../../ground.ts";
import { ofHead } from "../planning.ts";
import { type Cluster, eventOf } from "../schema.ts";
import type { StoredLifecycle } from "./schema.ts";
import { listOpen, putLifecycle } from "./store.ts";

/** The lifecycle of what is wanted of a cluster, as its head leads it. */

/** What is under way at the head. */
export const findOpenOfHead = async (db: Queries, { id }: Pick<Cluster, "id">) =>
  ofHead(await listOpen(db, id));

/** The one that is under way, or a new one: written down before the head is told. */
export const ownLifecycle = (ctx: Ground, cluster: Cluster): Promise<StoredLifecycle> =>
  ctx.batch(async (tx) => {
    const known = await findOpenOfHead(tx, cluster);
    if (known !== undefined) return known;
    const lifecycle = newLifecycle(ctx, cluster);
    await putLifecycle(tx, lifecycle);
    return lifecycle;
  });

/** The nodes went by themselves: only the provider knows them. */
export async function noteGone(ctx: Ground, cluster: Cluster, tx: Connection): Promise<void> {
  await putLifecycle(tx, { ...newLifecycle(ctx, cluster), cause: "idle", status: "LEAVING" });
}

/** A lifecycle that its head does not know yet. */
export const newLifecycle = (ctx: Ground, cluster: Cluster): StoredLifecycle => ({
  id: randomUUID(),
  clusterId: cluster.id,
  rank: 0,
  revision: 0,
  events: [eventOf(cluster)],
  cause: "user",
  because: cluster.wantedBecause,
  status: "HOOKS",
  skipsHooks: false,
  hooks: 0,
  runs: [],
  deadlineAt: null,
  startedAt: ctx.now().getTime(),
  endedAt: null,
});

/** Marks that a node was told that no hook shall hold it up. */
export const noteSkip = (ctx: Ground, clusterId: string, rank: number): Promise<void> =>
  ctx.batch(async (tx) => {
    const open = (await listOpen(tx, clusterId)).find((one) => one.rank === rank);
    if (open !== undefined) await putLifecycle(tx, { ...open, skipsHooks: true });
  });
