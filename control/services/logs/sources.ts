import { existsSync } from "node:fs";
import { readManagedLog } from "../../clusters/managed.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import { followFile, offsetOfLastLines, readFrom } from "../../growing-file.ts";
import { balancerLogOf, keptLogOf, replicaLogOf } from "../folders.ts";
import { controllerLogOf } from "../narration.ts";
import { findReplica } from "../replicas/store.ts";
import { type Replica, type Service, serviceKey } from "../schema.ts";
import { findService } from "../store.ts";
import { readTurned, type UntilMore } from "./turned-file.ts";

/** Where the logs of a service come from. */

/** How much of a log is wanted. */
export interface Wanted {
  /** Its last lines; null or 0 is everything. */
  readonly tail: number | null;
  readonly follow: boolean;
}

/** What was decided about a service, or what its balancer logs; followed until the service is gone. */
export async function* partLog(
  ctx: Context,
  { id }: Service,
  part: "controller" | "load_balancer",
  { tail, follow }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const file = part === "controller" ? controllerLogOf(ctx, id) : balancerLogOf(ctx, id);
  const isOver = async () => (await findService(ctx.db, id))?.status === "GONE";
  const untilMore: UntilMore = (hasMore) => {
    const look = async () => (await isOver()) || ((await hasMore()) ? false : undefined);
    return ctx.changes.until(serviceKey(id), look, signal);
  };
  yield* readTurned(file, tail || null, follow ? untilMore : undefined);
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
    const file = replicaLogOf(ctx, given);
    const offset = await offsetOf(file, tail);
    const isHandedIn = async () => {
      const { jobId, endedAt, status } = await find();
      return jobId !== null || endedAt !== null || status === "GONE";
    };
    yield* follow
      ? followFile(ctx.changes, serviceKey(given.serviceId), file, isHandedIn, offset, signal)
      : readFrom(file, offset);
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
  if (existsSync(kept)) return yield* readFrom(kept, await offsetOf(kept, tail));
  const cluster = clusterId === null ? undefined : await findCluster(ctx.db, clusterId);
  if (cluster?.status !== "UP" || cluster.wanted !== "UP" || jobId === null) return;
  yield* readManagedLog(ctx, cluster, { jobId, tail: tail ?? 0, follow }, signal);
}

const offsetOf = async (file: string, tail: number | null): Promise<number> =>
  tail ? offsetOfLastLines(file, tail) : 0;
