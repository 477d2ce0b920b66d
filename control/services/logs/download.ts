import type { InputOf } from "../../../common/operation.ts";
import type { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { addDownload, type Log } from "../../downloads.ts";
import { textOf } from "../../wire/log-pieces.ts";
import { getLiveService } from "../find.ts";
import { listReplicas } from "../replicas/store.ts";
import type { Service } from "../schema.ts";
import { getReplica } from "./logs.ts";
import { partLog, replicaLog } from "./sources.ts";

type Input = InputOf<typeof rows.downloadLogs>;

/** Copies logs of a service to the caller's folder on control; the path is for `download`. */
export async function downloadLogs(ctx: Context, input: Input, call: Call): Promise<string> {
  const service = await getLiveService(ctx, input.service_name);
  const logs = await logsOf(ctx, service, input, call.signal);
  const stamp = ctx.now().toISOString().replace(/[:.]/g, "-");
  return addDownload(ctx, call, input.env_vars, `service-${service.name}-${stamp}`, logs);
}

async function logsOf(
  ctx: Context,
  service: Service,
  { targets, replica_ids: ids, tail }: Input,
  signal: AbortSignal,
): Promise<Log[]> {
  const chosen = new Set([targets ?? []].flat());
  const isWanted = (target: "controller" | "load_balancer" | "replica") =>
    chosen.size === 0 || chosen.has(target);
  const wanted = { tail, follow: false };
  const parts = (["controller", "load_balancer"] as const).filter(isWanted).map((part) => ({
    name: `${part}.log`,
    chunks: partLog(ctx, service, part, wanted, signal),
  }));
  if (!isWanted("replica")) return parts;
  const replicas = ids?.length
    ? await Promise.all(ids.map((number) => getReplica(ctx, service, number)))
    : await listReplicas(ctx.db, service.id);
  const ofReplicas = replicas.map((replica) => ({
    name: `replica_${replica.number}.log`,
    chunks: textOf(replicaLog(ctx, replica, wanted, signal)),
  }));
  return [...parts, ...ofReplicas];
}
