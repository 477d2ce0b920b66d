import type { InputOf } from "../../../common/operation.ts";
import type { poolOperations as poolRows } from "../../../contract/operations/pools.ts";
import type { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { addDownload, type Log } from "../../downloads.ts";
import { textOf } from "../../wire/log-pieces.ts";
import { getLivePool, getLiveService } from "../find.ts";
import { listReplicas } from "../replicas/store.ts";
import { type Service, wordsOf } from "../schema.ts";
import { getReplica } from "./logs.ts";
import { partLog, replicaLog } from "./sources.ts";

type Input = InputOf<typeof rows.downloadLogs>;
type PoolInput = InputOf<typeof poolRows.downloadLogs>;

/** Copies logs of a service to the caller's folder on control; the path is for `download`. */
export const downloadLogs = async (ctx: Context, input: Input, call: Call): Promise<string> =>
  gather(ctx, await getLiveService(ctx, input.service_name), input, call);

/** The same of a pool. */
export const downloadPoolLogs = async (
  ctx: Context,
  { worker_ids: replica_ids, ...input }: PoolInput,
  call: Call,
): Promise<string> =>
  gather(ctx, await getLivePool(ctx, input.pool_name), { ...input, replica_ids }, call);

type Chosen = Pick<Input, "targets" | "replica_ids" | "tail" | "env_vars">;

async function gather(ctx: Context, service: Service, input: Chosen, call: Call): Promise<string> {
  const logs = await logsOf(ctx, service, input, call.signal);
  const stamp = ctx.now().toISOString().replace(/[:.]/g, "-");
  const place = `${wordsOf(service).noun}-${service.name}-${stamp}`;
  return addDownload(ctx, call, input.env_vars, place, logs);
}

async function logsOf(
  ctx: Context,
  service: Service,
  { targets, replica_ids: ids, tail }: Chosen,
  signal: AbortSignal,
): Promise<Log[]> {
  const chosen = new Set([targets ?? []].flat());
  const isWanted = (target: "controller" | "load_balancer" | "replica") =>
    chosen.size === 0 || chosen.has(target);
  const wanted = { tail, follow: false };
  const all = service.isPool
    ? (["controller"] as const)
    : (["controller", "load_balancer"] as const);
  const parts = all.filter(isWanted).map((part) => ({
    name: `${part}.log`,
    chunks: partLog(ctx, service, part, wanted, signal),
  }));
  if (!isWanted("replica")) return parts;
  const replicas = ids?.length
    ? await Promise.all(ids.map((number) => getReplica(ctx, service, number)))
    : await listReplicas(ctx.db, service.id);
  const ofReplicas = replicas.map((replica) => ({
    name: `${wordsOf(service).member}_${replica.number}.log`,
    chunks: textOf(replicaLog(ctx, replica, wanted, signal)),
  }));
  return [...parts, ...ofReplicas];
}
