import { existsSync } from "node:fs";
import { noMore, readGrowing, untilMore } from "../../../common/growing-file.ts";
import { readManagedLog } from "../../clusters/managed.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { balancerLogOf, keptLogOf, replicaLogOf } from "../folders.ts";
import { controllerLogOf } from "../narration.ts";
import { findReplica } from "../replicas/store.ts";
import { type Replica, type Service, serviceKey } from "../schema.ts";
import { findService } from "../store.ts";
import { readTurned } from "./turned-file.ts";

/** Where the logs of a service come from. */

/** How much of a log is wanted. */
export interface Wanted {
  /** Its last lines; null or 0 is everything. */
  readonly tail: number | null;
  readonly follow: boolean;
}

/** What was decided about a service, or what its balancer logs; followed until the service is gone. */
export async function* partLog(
  ctx: Ground,
  { id }: Service,
  part: "controller" | "load_balancer",
  { tail, follow }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const file = part === "controller" ? controllerLogOf(ctx, id) : balancerLogOf(ctx, id);
  const isOver = async () => (await findService(ctx.db, id))?.status === "GONE";
  const more = untilMore(ctx.changes, serviceKey(id), isOver, signal);
  yield* readTurned(file, tail ?? 0, follow ? more : noMore);
}

/**
 * What was told while a replica was brought up, then what its job prints; of its last lines, the job's.
 * Who follows it is told why the replica goes.
 */
export async function* replicaLog(
  ctx: Context,
  given: Replica,
  { tail, follow }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const find = async () => (await findReplica(ctx.db, given.id)) ?? given;
  const { jobId: known } = await find();
  if (!tail || known === null) {
    const isHandedIn = async () => {
      const { jobId, endedAt, status } = await find();
      return jobId !== null || endedAt !== null || status === "GONE";
    };
    const more = untilMore(ctx.changes, serviceKey(given.serviceId), isHandedIn, signal);
    yield* readGrowing(replicaLogOf(ctx, given), tail ?? 0, follow ? more : noMore);
  }
  if (known !== null || follow)
    yield* jobLog(ctx, await find(), { tail: known === null ? null : tail, follow }, signal);
  const { number, wanted, wantedBecause } = await find();
  if (follow && wanted === "GONE") yield Buffer.from(`replica ${number} goes: ${wantedBecause}\n`);
}

/** From its node while that can be asked, then what was kept of it. */
async function* jobLog(
  ctx: Context,
  replica: Replica,
  { tail, follow }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { clusterId, jobId } = replica;
  const kept = keptLogOf(ctx, replica);
  if (existsSync(kept)) return yield* readGrowing(kept, tail ?? 0, noMore);
  const cluster = clusterId === null ? undefined : await findCluster(ctx.db, clusterId);
  if (cluster?.status !== "UP" || cluster.wanted !== "UP" || jobId === null) return;
  yield* readManagedLog(ctx, cluster, { jobId, tail: tail ?? 0, follow }, signal);
}
