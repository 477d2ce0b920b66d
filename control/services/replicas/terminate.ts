import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import type { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { addEvent } from "../../events.ts";
import type { Ground } from "../../ground.ts";
import { nudge } from "../../reconciler.ts";
import { causeOf, want } from "../../want.ts";
import { hasFailed } from "../decisions/back-off.ts";
import { getLiveService } from "../find.ts";
import { drainMs, type Replica, type Service } from "../schema.ts";
import { moveReplica } from "./move.ts";
import { listReplicas, setReplica } from "./store.ts";

/** Drains and removes one replica; another takes its place where that is wanted. */
export async function terminateReplica(
  ctx: Context,
  { service_name, replica_id: number, purge }: InputOf<typeof rows.terminateReplica>,
  call: Call,
): Promise<null> {
  // What a first attempt at the same request did is not refused to the second.
  if (call.progress.serviceId !== undefined) return null;
  const service = await getLiveService(ctx, service_name);
  const replica = (await listReplicas(ctx.db, service.id)).find((one) => one.number === number);
  if (replica === undefined)
    return fail("NotFoundError", `service ${service.name} has no replica ${number}`);
  refuse(replica, purge);
  await sendAway(ctx, service, replica, call);
  if (replica.status === "FAILED_CLEANUP") await forget(ctx, replica);
  const isOver = hasFailed(replica) || replica.status === "FAILED_CLEANUP";
  const becomes = isOver ? "is forgotten" : "drains, then is removed";
  call.print(`Replica ${number} of ${service.name} ${becomes}.\n`);
  void nudge(ctx, "service", service.id);
  void nudge(ctx, "replica", replica.id);
  return null;
}

function refuse(replica: Replica, purge: boolean): void {
  const { number, status, reason, wanted, wantedBecause } = replica;
  const isStuck = status === "FAILED_CLEANUP";
  if (wanted === "GONE" && !isStuck && !hasFailed(replica))
    fail("ConflictError", `replica ${number} is already being removed (${wantedBecause})`);
  if (isStuck && !purge)
    fail(
      "ConflictError",
      `replica ${number} cannot be removed: ${reason}; to remove it from the list, pass --purge`,
    );
  if (hasFailed(replica) && !purge)
    fail("ConflictError", `replica ${number} has failed; to remove it from the list, pass --purge`);
}

async function sendAway(
  ctx: Ground,
  { id: serviceId }: Service,
  { id, number, endedAt }: Replica,
  call: Call,
): Promise<void> {
  const cause = causeOf(call, "terminated");
  const reason = `replica ${number} is removed: ${cause.because}`;
  await call.remember({ serviceId }, async (tx) => {
    await want(tx, "replica", id, { wanted: "GONE", ...cause });
    if (endedAt === null) await setReplica(tx, id, { drainUntil: ctx.now().getTime() + drainMs });
    await addEvent(tx, { noun: "service", id: serviceId, reason, actor: cause.by, at: ctx.now() });
  });
}

/** Its cluster is removed as soon as that can be. */
const forget = (ctx: Ground, replica: Replica): Promise<void> =>
  moveReplica(ctx, replica, { to: "GONE", reason: `purged; ${replica.reason}` });
