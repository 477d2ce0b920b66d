import { Readable } from "node:stream";
import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import type { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call, LogReply } from "../../bind.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
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
  const wanted = { tail: tail === null ? null : Math.max(tail, 0), follow };
  const chunks =
    target === "replica"
      ? replicaLog(ctx, await getReplica(ctx, service, number ?? 0), wanted, call.signal)
      : partLog(ctx, service, target, wanted, call.signal);
  return { body: Readable.from(neutralise(chunks)), exitCode: async () => 0 };
}

/** What the row's shapes cannot say of whose log is wanted. */
export function checkLogs({ target, replica_id: number }: Input): void {
  if ((target === "replica") !== (number !== null))
    fail("ValueError", "replica_id goes with the target replica, and with no other");
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
