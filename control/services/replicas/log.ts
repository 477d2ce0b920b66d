import { createReadStream, existsSync, mkdirSync } from "node:fs";
import { appendFile, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf } from "../../../common/errors.ts";
import { appendTo } from "../../../common/files.ts";
import { sizeOf } from "../../../common/growing-file.ts";
import { type Growth, recordGrowth, writeGrowth } from "../../../common/log-growth.ts";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import { growthAtMost, logOffsetHeader } from "../../../contract/job-log.ts";
import type { Cluster } from "../../clusters/schema.ts";
import type { Context } from "../../context.ts";
import { keptLogOf } from "../folders.ts";
import type { Replica } from "../schema.ts";

/** What is kept of a replica's log once its cluster goes. */
const keptLines = 100_000;
const keptBytes = 64 * 1024 * 1024;
/** Of the last lines of a job so much is read at most. */
const lastBytes = 64 * 1024;
/** A node that is not well must not hold up its own removal. */
const patienceMs = 60_000;

/** What adds text to a file. */
export function printTo(file: string): (text: string) => void {
  return (text) => {
    appendTo(file, text);
    recordGrowth(file);
  };
}

/** The end of the last lines of what a job printed; empty when its node does not answer. */
export async function lastLines(
  ctx: Context,
  cluster: Cluster,
  { jobId }: Replica,
  lines: number,
  signal: AbortSignal,
): Promise<string> {
  if (jobId === null) return "";
  const query = { id: jobId, tail: lines, offset: 0, follow: "false" };
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    const { body } = await ctx.agent(cluster, 0).open(api.readLog, query, limit);
    let last = Buffer.alloc(0);
    // A line may be as long as the log.
    for await (const chunk of body) last = Buffer.concat([last, chunk]).subarray(-lastBytes);
    return last.toString();
  } catch {
    signal.throwIfAborted();
    return "";
  }
}

/**
 * Copies the last lines that a job printed to control, once, before its cluster goes; says so where
 * they cannot be had.
 */
export async function keepLog(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<void> {
  const file = keptLogOf(ctx, replica);
  if (replica.jobId === null || existsSync(file)) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const query = { id: replica.jobId, offset: 0, tail: keptLines, follow: "false" };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  try {
    const { headers, body } = await ctx.agent(cluster, 0).open(api.readLog, query, limit);
    const counted = counting(body, Number(headers[logOffsetHeader] ?? 0));
    await writeEnd(`${file}.part`, counted.chunks, keptBytes, limit);
    const start = counted.end() - (await sizeOf(`${file}.part`));
    writeGrowth(file, await growthBehind(ctx, cluster, replica.jobId, start, limit));
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error);
    await appendFile(`${file}.part`, `the log of the job cannot be read: ${why}\n`, {
      mode: 0o600,
    });
  }
  await rename(`${file}.part`, file);
}

/** Chunks, and the offset after those that were read. */
function counting(chunks: AsyncIterable<Buffer>, start: number) {
  let end = start;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      end += chunk.length;
      yield chunk;
    }
  }
  return { chunks: counted(), end: () => end };
}

/** When the log of a job grew behind a byte, as a copy that begins there counts. */
async function growthBehind(
  ctx: Context,
  cluster: Cluster,
  id: number,
  start: number,
  signal: AbortSignal,
): Promise<Growth[]> {
  const records: Growth[] = [];
  for (let after = start; ; ) {
    const found = await ctx.agent(cluster, 0).call(api.listLogGrowth, { id, after }, { signal });
    records.push(...found.map(({ size, at }) => ({ size: size - start, at })));
    const last = found.at(-1);
    if (last === undefined || found.length < growthAtMost) return records;
    after = last.size;
  }
}

/**
 * Writes the end of what comes into a file, which then has `bytes` at most, and at least half of them where so
 * many came.
 */
export async function writeEnd(
  file: string,
  chunks: AsyncIterable<Buffer>,
  bytes: number,
  signal: AbortSignal,
): Promise<void> {
  const before = `${file}.before`;
  const half = Math.ceil(bytes / 2);
  await rm(before, { force: true });
  let opened = await open(file, "w", 0o600);
  try {
    let size = 0;
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      for (let rest = chunk; rest.length > 0; ) {
        if (size === half) {
          await opened.close();
          await rename(file, before);
          opened = await open(file, "w", 0o600);
          size = 0;
        }
        const part = rest.subarray(0, half - size);
        await opened.writeFile(part);
        size += part.length;
        rest = rest.subarray(part.length);
      }
    }
  } finally {
    await opened.close();
  }
  if (!existsSync(before)) return;
  await appendFile(before, createReadStream(file));
  await rename(before, file);
}
