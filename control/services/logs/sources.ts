import { existsSync } from "node:fs";
import {
  noMore,
  offsetOfLastLines,
  readGrowingFrom,
  type UntilMore,
  untilMore,
} from "../../../common/growing-file.ts";
import { listGrowth, offsetSince } from "../../../common/log-growth.ts";
import { growthAtMost } from "../../../contract/job-log.ts";
import { readManagedLog } from "../../clusters/managed.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { type LogPiece, piecesOf, type ReadGrowth } from "../../wire/log-pieces.ts";
import { balancerLogOf, keptLogOf, replicaLogOf } from "../folders.ts";
import { controllerLogOf } from "../narration.ts";
import { findReplica } from "../replicas/store.ts";
import { type Replica, type Service, serviceKey, wordsOf } from "../schema.ts";
import { findService, getService } from "../store.ts";
import { readRotated } from "./rotated-file.ts";

/** Where the logs of a service come from. */

/** How much of a log is wanted. */
export interface Wanted {
  /** Its last lines; null or 0 is everything. */
  readonly tail: number | null;
  /** Epoch milliseconds: only lines that ended then or later. */
  readonly since?: number | undefined;
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
  yield* readRotated(file, tail ?? 0, follow ? more : noMore);
}

/**
 * What was told while a replica was brought up, then what its job prints; of its last lines, the job's.
 * Who follows it is told why the replica goes.
 */
export async function* replicaLog(
  ctx: Context,
  given: Replica,
  { tail, since, follow }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  const find = async () => (await findReplica(ctx.db, given.id)) ?? given;
  const { jobId: known } = await find();
  if (!tail || known === null) {
    const isHandedIn = async () => {
      const { jobId, endedAt, status } = await find();
      return jobId !== null || endedAt !== null || status === "GONE";
    };
    const more = untilMore(ctx.changes, serviceKey(given.serviceId), isHandedIn, signal);
    yield* readFile(replicaLogOf(ctx, given), { tail, since }, follow ? more : noMore);
  }
  if (known !== null || follow)
    yield* jobLog(ctx, await find(), { tail: known === null ? null : tail, since, follow }, signal);
  const { number, wanted, wantedBecause } = await find();
  if (!follow || wanted !== "GONE") return;
  const { member } = wordsOf(await getService(ctx.db, given.serviceId));
  yield lineNow(ctx, `${member} ${number} is removed: ${wantedBecause}\n`);
}

/** A line that no file has: it is as old as its reading. */
function lineNow(ctx: Ground, line: string): LogPiece {
  const bytes = Buffer.from(line);
  return { bytes, at: 0, growth: async () => [{ size: bytes.length, at: ctx.now().getTime() }] };
}

/** A log file on control, with the records of its growth beside it. */
async function* readFile(
  path: string,
  { tail, since }: Omit<Wanted, "follow">,
  more: UntilMore,
): AsyncGenerator<LogPiece> {
  const last = await offsetOfLastLines(path, tail ?? 0);
  const start = Math.max(last, since === undefined ? 0 : offsetSince(path, since));
  const growth: ReadGrowth = async (after) => listGrowth(path, after, growthAtMost);
  yield* piecesOf(start, readGrowingFrom(path, start, more), growth);
}

/** From its node while that can be asked, then what was kept of it. */
async function* jobLog(
  ctx: Context,
  replica: Replica,
  { tail, since, follow }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  const { clusterId, jobId } = replica;
  const kept = keptLogOf(ctx, replica);
  if (existsSync(kept)) return yield* readFile(kept, { tail, since }, noMore);
  const cluster = clusterId === null ? undefined : await findCluster(ctx.db, clusterId);
  if (cluster?.status !== "UP" || cluster.wanted !== "UP" || jobId === null) return;
  yield* readManagedLog(ctx, cluster, { jobId, tail: tail ?? 0, since, follow }, signal);
}
