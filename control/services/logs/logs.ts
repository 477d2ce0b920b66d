import { Readable } from "node:stream";
import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import type { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call, LogReply } from "../../bind.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { textOf, withInstants } from "../../wire/log-pieces.ts";
import { neutralise } from "../../wire/neutralise.ts";
import { getLiveService } from "../find.ts";
import { findNumber } from "../replicas/store.ts";
import type { Replica, Service } from "../schema.ts";
import { partLog, replicaLog } from "./sources.ts";

type Input = InputOf<typeof rows.logs>;

/** Streams what was decided about a service, what its balancer logs, or what a replica prints. */
export async function logs(ctx: Context, input: Input, call: Call): Promise<LogReply> {
  const { service_name: name, target, replica_id: number, tail, follow } = input;
  const service = await getLiveService(ctx, name);
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

/** A replica of a service, also one that is gone; throws `NotFoundError`. */
export async function getReplica(
  ctx: Ground,
  { id, name }: Service,
  number: number,
): Promise<Replica> {
  const replica = await findNumber(ctx.db, id, number);
  return replica ?? fail("NotFoundError", `service ${name} has no replica ${number}`);
}
