import { type ReplicaStatus, replicaMachine } from "../../../contract/statuses.ts";
import type { Connection } from "../../db/open.ts";
import type { Ground } from "../../ground.ts";
import { move } from "../../move.ts";
import { narrate } from "../narration.ts";
import { type Outcome, type Replica, wordsOf } from "../schema.ts";
import { getService, listVersions, setVersion } from "../store.ts";
import { setReplica } from "./store.ts";

/** In these a replica has not ended. */
const lasting: readonly ReplicaStatus[] = [
  ...(["PENDING", "PROVISIONING", "STARTING", "READY", "NOT_READY"] as const),
  ...(["SHUTTING_DOWN", "FAILED_CLEANUP"] as const),
];

/** Moves a replica, and tells of it; notes when it ended, and when it and its version were ready first. */
export async function moveReplica(
  ctx: Ground,
  replica: Replica,
  { to, reason, change }: Outcome,
): Promise<void> {
  const now = ctx.now().getTime();
  const endedAt = lasting.includes(to) ? null : (replica.endedAt ?? now);
  const isFirst = to === "READY" && replica.readyAt === null;
  const isMoved = await move(ctx, replicaMachine, replica, to, reason, {
    async also(tx) {
      const ready = isFirst && { readyAt: now };
      await setReplica(tx, replica.id, { reason, endedAt, ...ready, ...change });
      if (isFirst) await noteReady(tx, replica, now);
    },
  });
  if (!isMoved) return;
  const { member } = wordsOf(await getService(ctx.db, replica.serviceId));
  narrate(ctx, replica.serviceId, `${member} ${replica.number}: ${to}: ${reason}`);
}

async function noteReady(tx: Connection, replica: Replica, readyAt: number): Promise<void> {
  const versions = await listVersions(tx, replica.serviceId);
  const isFirst = versions.some((one) => one.version === replica.version && one.readyAt === null);
  if (isFirst) await setVersion(tx, replica, { readyAt });
}
