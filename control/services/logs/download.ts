import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { InputOf } from "../../../common/operation.ts";
import type { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { downloadsOf, shownDownloads } from "../../downloads.ts";
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
  const folder = downloadsOf(ctx, call.user.id);
  const stamp = ctx.now().toISOString().replace(/[:.]/g, "-");
  const place = `service-${service.name}-${stamp}`;
  await mkdir(join(folder, place), { recursive: true, mode: 0o700 });
  for (const { name, chunks } of logs) {
    const file = createWriteStream(join(folder, place, name), { mode: 0o600 });
    await pipeline(orWhyNot(chunks, call.signal), file);
  }
  return `${shownDownloads(call.user.id, input.env_vars)}/${place}`;
}

interface Log {
  readonly name: string;
  readonly chunks: AsyncIterable<Buffer>;
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

/** One log that cannot be had does not keep the others back. */
async function* orWhyNot(
  chunks: AsyncIterable<Buffer>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    yield Buffer.from(`the rest cannot be read: ${why}\n`);
  }
}
