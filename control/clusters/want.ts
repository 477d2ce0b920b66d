import type { Context } from "../context.ts";
import type { Connection, Queries } from "../db/open.ts";
import { wakeForWish } from "../reconciler.ts";
import * as rows from "../want.ts";
import { findOpenOfHead } from "./lifecycles/wanted.ts";
import { type Cluster, clusterKey, type Wanted } from "./schema.ts";
import { findCluster, freshWith } from "./store.ts";

/** What is wanted of a cluster, by whom or what; `skipHooks`: no hook may delay that. */
export interface Desire extends rows.Desire<Wanted> {
  readonly skipHooks?: boolean;
}

/** As `wantCluster`, in a transaction of its own; the reconciler begins at once. */
export async function want(ctx: Context, id: string, desire: Desire): Promise<boolean> {
  const isWritten = await ctx.batch((tx) => wantCluster(tx, id, desire));
  wake(ctx, id);
  return isWritten;
}

/** Has the reconciler, and all who wait for a cluster, look at it now: something else may be wanted of it. */
export function wake(ctx: Context, id: string): void {
  ctx.changes.notify(clusterKey(id));
  wakeForWish(ctx, "cluster", id);
}

/**
 * Writes what a cluster should be, and forgets why an earlier attempt failed. False, and nothing is
 * written, where it is too late: the cluster is gone, its nodes are being deleted, or it would only be
 * stopped while it is being taken down.
 */
export async function wantCluster(db: Connection, id: string, desire: Desire): Promise<boolean> {
  const before = await held(db, id);
  if (before === undefined || (await isTooLate(db, before, desire.wanted))) return false;
  const isJoined = before.wanted === desire.wanted;
  // Repeating a wish does not undo an earlier decision to skip hooks.
  const skipHooks = desire.skipHooks === true || (isJoined && before.skipHooks);
  return rows.want(db, "cluster", id, desire, freshWith(skipHooks));
}

async function isTooLate(db: Queries, before: Cluster, wanted: Wanted): Promise<boolean> {
  if (before.wanted !== "GONE" || wanted === "GONE") return false;
  return wanted === "STOPPED" || (await isLeft(db, before));
}

/**
 * Takes back that a cluster is stopped or taken down, while its hooks still run: it stays up. False
 * where something else is wanted, or it is too late.
 */
export async function takeBack(
  db: Connection,
  { id, wanted }: Pick<Cluster, "id" | "wanted">,
  cause: rows.Cause,
): Promise<boolean> {
  const before = await held(db, id);
  if (before === undefined || before.wanted !== wanted || wanted === "UP") return false;
  const isOn = before.status === "UP" || before.status === "AUTOSTOPPING";
  if (!isOn || (await isLeft(db, before))) return false;
  return rows.want(db, "cluster", id, { wanted: "UP", ...cause }, freshWith(false));
}

/** The cluster as it is, which nobody else writes until the transaction ends. */
async function held(db: Connection, id: string): Promise<Cluster | undefined> {
  const seen = await findCluster(db, id);
  if (seen === undefined || seen.status === "GONE") return undefined;
  return (await rows.hold(db, "cluster", seen)) ? seen : held(db, id);
}

/** Whether the provider has been asked to stop or delete its nodes. */
const isLeft = async (db: Queries, cluster: Cluster): Promise<boolean> =>
  (await findOpenOfHead(db, cluster))?.status === "LEAVING";
