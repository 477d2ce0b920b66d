import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { agentOperations as agentApi } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { provisionLogOf } from "./provision-log.ts";
import type { Cluster } from "./schema.ts";

/** The jobs of a cluster when its head last told of them. */
export interface LastQueue {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The newest ones, by falling id. */
  readonly jobs: readonly Job[];
  /** The highest number that a job of the cluster has had, also on a head that is gone. */
  readonly lastJobId?: number;
}

const jobsAtMost = 500;

/** Keeps what the head says of its jobs now, for as long as the cluster is remembered. */
export async function keepQueue(ctx: Context, cluster: Cluster, signal: AbortSignal) {
  const head = ctx.agent(cluster, 0);
  const jobs = await head.call(agentApi.listJobs, { limit: jobsAtMost }, { signal });
  const file = fileOf(ctx, cluster);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const lastJobId = Math.max(jobs[0]?.id ?? 0, await findLastJobId(ctx, cluster));
  const last: LastQueue = { at: ctx.now().getTime(), jobs, lastJobId };
  await writeFile(`${file}.new`, JSON.stringify(last), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** What the head of a cluster said last of its jobs; undefined when it never did. */
export async function findLastQueue(ctx: Ground, cluster: Cluster) {
  try {
    return JSON.parse(await readFile(fileOf(ctx, cluster), "utf8")) as LastQueue;
  } catch {
    return undefined;
  }
}

/** The highest number of a job that the heads of a cluster have reported; 0 when there was none. */
export async function findLastJobId(ctx: Ground, cluster: Cluster): Promise<number> {
  const last = await findLastQueue(ctx, cluster);
  return last?.lastJobId ?? last?.jobs[0]?.id ?? 0;
}

const fileOf = (ctx: Ground, { id }: Cluster): string =>
  join(dirname(provisionLogOf(ctx, id)), "queue.json");
