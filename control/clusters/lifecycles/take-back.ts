import type { Context } from "../../context.ts";
import type { Connection, Queries } from "../../db/open.ts";
import { addEvent } from "../../events.ts";
import type { Ground } from "../../ground.ts";
import type { Cause } from "../../want.ts";
import { listPendingRequests } from "../pending-requests.ts";
import type { Cluster } from "../schema.ts";
import { getCluster } from "../store.ts";
import { takeBack, wake } from "../want.ts";
import { listLifecycles } from "./store.ts";
import { findOpenOfHead } from "./wanted.ts";

type Named = Pick<Cluster, "id" | "name">;

/**
 * Takes back what the idle timer began, while its hooks still run: the cluster is wanted up again.
 * False where it began nothing, a user wants the same, or it is too late. `also` joins the
 * transaction.
 */
export async function takeIdleStopBack(
  ctx: Context,
  { id, name }: Named,
  cause: Cause,
  also: (tx: Connection) => Promise<void> = async () => {},
): Promise<boolean> {
  const reason = `the idle stop or teardown is cancelled (${cause.because})`;
  const isTaken = await ctx.batch(async (tx) => {
    const { wanted } = await getCluster(tx, id);
    const head = await findOpenOfHead(tx, { id });
    if (head?.cause !== "idle" || (await isAskedFor(tx, name))) return false;
    if (!(await takeBack(tx, { id, wanted }, cause))) return false;
    const event = {
      noun: "cluster",
      id,
      reason,
      actor: cause.by,
      isNoteworthy: true,
      at: ctx.now(),
    };
    await addEvent(tx, event);
    await also(tx);
    return true;
  });
  if (!isTaken) return false;
  wake(ctx, id);
  return true;
}

/** Whether a cluster is stopped or taken down, and nobody but the idle timer wants that. */
export async function isIdleStop(ctx: Ground, { id, name }: Named): Promise<boolean> {
  const { wanted } = await getCluster(ctx.db, id);
  if (wanted === "UP" || (await isAskedFor(ctx.db, name))) return false;
  const newest = (await listLifecycles(ctx.db, id, 10)).find(({ rank }) => rank === 0);
  return newest?.cause === "idle";
}

/** Whether somebody waits for a cluster to be stopped or taken down. */
const isAskedFor = async (db: Queries, name: string): Promise<boolean> =>
  (await listPendingRequests(db, name)).length > 0;
