import { setTimeout as sleep } from "node:timers/promises";
import { agentOperations as api } from "../../contract/agent-api.ts";
import { jobLogGap, logOffsetHeader, logSizeHeader } from "../../contract/job-log.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Agent } from "../doors/agent.ts";
import { openSilence, type Silence } from "../doors/silence.ts";
import type { Ground } from "../ground.ts";
import { copyAll, type OpenCopy, openCopy } from "../log-copy.ts";
import { taskKey } from "./schema.ts";

/** How the log of an attempt is copied from its node. */

/** A log that is copied while it grows. Jobs that run may be many, so there is little of it. */
export interface Growing {
  readonly taskId: string;
  readonly file: string;
  readonly clusterId: string;
  readonly jobId: number;
  /** Whether there may be more than the last read has found. */
  isBehind: boolean;
  /** The copy is known to have all of it. */
  isWhole?: true;
}

const megabyte = 2 ** 20;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A node belongs to its user, and may tell of growth as often as it likes. */
export const betweenReadsMs = 500;
/** How long a node may take to end a job. */
export const patienceMs = 60_000;
/** How long a node may send nothing of the rest of a job's log. */
export const silentMs = 15_000;

/**
 * Reads to the present end while there is more, with pauses in between. False once the agent turns out not to tell when
 * there is more, as older ones.
 */
export async function catchUp(
  ctx: Context,
  log: Growing,
  afterFirstMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  let tells = true;
  for (let pauseMs = afterFirstMs; log.isBehind && tells; pauseMs = betweenReadsMs) {
    log.isBehind = false;
    await insist(ctx, log, signal, async (head) => {
      tells = await readOnce(ctx, log, head, signal);
    });
    await sleep(pauseMs, undefined, { signal });
  }
  return tells;
}

/** Tries ever less often, until it works or the cluster is not wanted any more. Rejects on abort. */
async function insist(
  ctx: Context,
  { taskId, clusterId }: Growing,
  signal: AbortSignal,
  work: (head: Agent) => Promise<void>,
): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const cluster = await findCluster(ctx.db, clusterId);
    if (cluster === undefined || cluster.wanted !== "UP") return;
    try {
      return await work(ctx.agent(cluster, 0));
    } catch (err) {
      signal.throwIfAborted();
      ctx.log.debug({ err, taskId }, "log of a managed job not copied");
    }
    await sleep(pauseMs, undefined, { signal });
  }
}

/** Copies what there is by now; returns whether the agent tells when there is more. */
async function readOnce(
  ctx: Context,
  log: Growing,
  head: Agent,
  signal: AbortSignal,
): Promise<boolean> {
  using silence = openSilence(silentMs, signal);
  await using copy = await openLogCopy(ctx, log);
  for (;;) {
    const { isMore, sizeBytes } = await copyOn(ctx, log, copy, head, false, silence);
    if (sizeBytes === undefined) return false;
    // An answer ends where the node left bytes out.
    if (!isMore || !(copy.size < sizeBytes)) return true;
  }
}

/** Copies until the job has ended and all of its log is here; goes on where it was left, while its cluster stays. */
export const copyToEnd = (ctx: Context, log: Growing, ending: Ending): Promise<void> =>
  insist(ctx, log, ending.signal, (head) => copyWhole(ctx, log, head, ending));

/** How a log is copied to its end. */
interface Ending extends Pick<Silence, "heard" | "signal"> {
  /** Whether its job is known to have ended. */
  readonly isOver: boolean;
}

/** As `copyToEnd`, from this head; throws where it does not answer. */
export async function copyWhole(
  ctx: Context,
  log: Growing,
  head: Agent,
  ending: Ending,
): Promise<void> {
  const id = log.jobId;
  const { signal } = ending;
  await using copy = await openLogCopy(ctx, log);
  while (!copy.isWhole) {
    const isOver =
      ending.isOver || jobMachine.isFinal((await head.call(api.getJob, { id }, { signal })).status);
    // A log ends where its node left bytes out, and goes on behind them when it is read again.
    const { isMore, sizeBytes = Infinity } = await copyOn(ctx, log, copy, head, true, ending);
    if (isOver && (!isMore || copy.size >= sizeBytes)) await copy.finish();
  }
  log.isWhole = true;
  ctx.changes.notify(taskKey(log.taskId));
}

function openLogCopy({ config }: Ground, { file }: Growing): Promise<OpenCopy> {
  const most = config.jobLogMegabytes * megabyte;
  return openCopy(file, { gapOf: (sizeBytes) => jobLogGap(sizeBytes, most) });
}

async function copyOn(
  ctx: Context,
  { taskId, jobId: id }: Growing,
  copy: OpenCopy,
  head: Agent,
  follow: boolean,
  { heard, signal }: Pick<Silence, "heard" | "signal">,
) {
  const log = { id, offset: copy.size, follow: `${follow}` } as const;
  const { headers, body } = await head.open(api.readLog, log, signal);
  const start = Number(headers[logOffsetHeader] ?? copy.size);
  const isMore = await copyAll(copy, start, body, () => {
    heard();
    ctx.changes.notify(taskKey(taskId));
  });
  const size = headers[logSizeHeader];
  return { isMore, sizeBytes: size === undefined ? undefined : Number(size) };
}
