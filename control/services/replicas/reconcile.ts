import type { ReplicaStatus } from "../../../contract/statuses.ts";
import type { Context } from "../../context.ts";
import { nudge, type Reconciler } from "../../reconciler.ts";
import { findWorkerOutcome } from "../pools/worker.ts";
import type { Outcome, Replica } from "../schema.ts";
import { getService } from "../store.ts";
import { handIn, makeCluster } from "./launch.ts";
import { moveReplica } from "./move.ts";
import { findOutcome } from "./outcome.ts";
import { remove } from "./removal.ts";
import { findReplica, listReplicaIds, listReplicas } from "./store.ts";

/** Brings replicas from what is to what is wanted, each by itself: one never holds up another. */
export const replicas: Reconciler = {
  name: "replica",
  everyMs: 5_000,
  atOnce: 64,
  due: (ctx) => listReplicaIds(ctx.db),
  reconcile,
};

type Step = (ctx: Context, replica: Replica, signal: AbortSignal) => Promise<Outcome | undefined>;

/** What is done for a replica that is to stay, by its status. */
const stepsWith = (look: Step): Partial<Record<ReplicaStatus, Step>> => ({
  PENDING: makeCluster,
  PROVISIONING: handIn,
  STARTING: look,
  READY: look,
  NOT_READY: look,
});
const steps = stepsWith(findOutcome);
const workerSteps = stepsWith(findWorkerOutcome);

async function reconcile(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  const replica = await findReplica(ctx.db, id);
  if (replica === undefined || replica.status === "GONE") return;
  const { isPool } = await getService(ctx.db, replica.serviceId);
  const isStaying = replica.wanted === "UP" && replica.endedAt === null;
  const step = isStaying ? (isPool ? workerSteps : steps)[replica.status] : remove;
  const outcome = await step?.(ctx, replica, signal);
  if (outcome === undefined) return;
  await moveReplica(ctx, replica, outcome);
  // What comes next begins at once, and the service looks at what it has now.
  void nudge(ctx, "replica", id);
  void nudge(ctx, "service", replica.serviceId);
  if (outcome.to === "GONE") await nudgeWaiting(ctx, replica);
}

/** One that waits for a machine may have that of one that is gone. */
async function nudgeWaiting(ctx: Context, { serviceId }: Replica): Promise<void> {
  for (const { id, status } of await listReplicas(ctx.db, serviceId))
    if (status === "PENDING") void nudge(ctx, "replica", id);
}
