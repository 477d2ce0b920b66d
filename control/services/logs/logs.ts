import { Readable } from "node:stream";
import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import type { poolOperations as poolRows } from "../../../contract/operations/pools.ts";
import type { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call, LogReply } from "../../bind.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { textOf, withInstants } from "../../wire/log-pieces.ts";
import { neutralise } from "../../wire/neutralise.ts";
import { getLivePool, getLiveService } from "../find.ts";
import { findNumber } from "../replicas/store.ts";
import { type Replica, type Service, wordsOf } from "../schema.ts";
import { partLog, replicaLog } from "./sources.ts";

type Input = InputOf<typeof rows.logs>;
type PoolInput = InputOf<typeof poolRows.logs>;

/** Streams what was decided about a service, what its balancer logs, or what a replica prints. */
export const logs = async (ctx: Context, input: Input, call: Call): Promise<LogReply> =>
  logsOf(ctx, await getLiveService(ctx, input.service_name), input, call);

/** Likewise what was decided about a pool, or what a worker printed during its setup. */
export async function poolLogs(
  ctx: Context,
  { pool_name: name, worker_id: replica_id, ...wanted }: PoolInput,
  call: Call,
): Promise<LogReply> {
  const given = { ...wanted, replica_id, since: null, timestamps: false };
  return logsOf(ctx, await getLivePool(ctx, name), given, call);
}

async function logsOf(
  ctx: Context,
  service: Service,
  input: Pick<Input, "target" | "replica_id" | "tail" | "follow" | "since" | "timestamps">,
  call: Call,
): Promise<LogReply> {
  const { target, replica_id: number, tail, follow } = input;
  const since = input.since === null ? undefined : input.since * 1_000;
  const wanted = { tail: tail === null ? null : Math.max(tail, 0), since, follow };
  if (target !== "replica")
    return reply(neutralise(partLog(ctx, service, target, wanted, call.signal)));
  const replica = await getReplica(ctx, service, number ?? 0);
  const pieces = replicaLog(ctx, replica, wanted, call.signal);
  return reply(input.timestamps ? withInstants(pieces) : neutralise(textOf(pieces)));
}

const reply = (chunks: AsyncIterable<Buffer>): LogReply => ({
  body: Readable.from(chunks),
  exitCode: async () => 0,
});

/** What the row's shapes cannot say of whose log is wanted. */
export function checkLogs({ target, replica_id: number, since }: Input): void {
  if ((target === "replica") !== (number !== null))
    fail(
      "ValueError",
      "replica_id is required for the target replica, and not allowed with others",
    );
  if (target !== "replica" && since !== null)
    fail("ValueError", `since is for replicas; each line of the ${target} has its time in it`);
}

/** What the row's shapes cannot say of whose log is wanted. */
export function checkPoolLogs({ target, worker_id: number }: PoolInput): void {
  if (target === "load_balancer") fail("ValueError", "a pool has no load_balancer");
  if ((target === "replica") !== (number !== null))
    fail("ValueError", "worker_id is required for the target replica, and not allowed with others");
}

/** A replica of a service, also one that is gone; throws `NotFoundError`. */
export async function getReplica(ctx: Ground, service: Service, number: number): Promise<Replica> {
  const { noun, member } = wordsOf(service);
  const replica = await findNumber(ctx.db, service.id, number);
  return replica ?? fail("NotFoundError", `${noun} ${service.name} has no ${member} ${number}`);
}
