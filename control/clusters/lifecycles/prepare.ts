import { AppError } from "../../../common/errors.ts";
import { limited } from "../../../common/limited.ts";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import type { Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import type { Context } from "../../context.ts";
import { backAgain, create } from "../create.ts";
import { fetchHookLogs } from "../hooks/log-pump.ts";
import { tellHooks } from "../hooks/told.ts";
import { keepLastLogs } from "../last-logs.ts";
import { lost } from "../planning.ts";
import { remark } from "../provision-log.ts";
import { type Cluster, eventOf } from "../schema.ts";
import { adopt, adoptLifecycles } from "./adopt.ts";
import { atHead } from "./at-head.ts";
import type { StoredLifecycle } from "./schema.ts";
import { listOpen } from "./store.ts";
import { noteSkip, ownLifecycle } from "./wanted.ts";

/** What comes before the nodes of a cluster are stopped or deleted; the head leads it to READY. */

const fetchLogsMs = 10_000;
const skipMs = 2_000;

/** Has the agent of the head back, and of our code where `replaces`; else the hooks are skipped. */
export const rouse = (ctx: Context, cluster: Cluster, replaces: boolean, signal: AbortSignal) =>
  atHead(ctx, cluster, signal, "insist", async (withinMs) => {
    await create(ctx, cluster, 0, { ...backAgain, replaces, withinMs }, signal);
  });

/** Tells the head the hooks that it is about to run. */
export const tellHead = (ctx: Context, cluster: Cluster, signal: AbortSignal) =>
  atHead(ctx, cluster, signal, "look again", () => tellHooks(ctx, cluster, [0], signal));

/** Has the head begin the lifecycle, or join it to the one that is under way; `heard` gets what it then tells. */
export const begin = (
  ctx: Context,
  cluster: Cluster,
  heard: (told: Lifecycle) => void,
  signal: AbortSignal,
) =>
  atHead(ctx, cluster, signal, "look again", async () => {
    const { id, cause } = await ownLifecycle(ctx, cluster);
    const { wantedBecause: because, skipHooks } = cluster;
    const order = { id, cause, because, event: eventOf(cluster), skipHooks };
    const told = await ctx.agent(cluster, 0).call(api.beginLifecycle, order, { signal });
    await adopt(ctx, cluster, { ...told, rank: 0 });
    heard(told);
    if (skipHooks) await noteSkip(ctx, cluster.id, 0);
  });

/** Tells a node that is being taken away that no hook shall hold it up; nobody waits for it. */
export async function skipHooks(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const order = { id, event: "preemption", cause: "provider", skipHooks: true } as const;
  const options = { signal, timeoutMs: skipMs };
  await ctx
    .agent(cluster, rank)
    .call(api.beginLifecycle, { ...order, because: cluster.wantedBecause }, options)
    .catch((err: unknown) => {
      signal.throwIfAborted();
      ctx.log.info({ err, clusterId: cluster.id, rank }, "hooks not skipped on a node");
    });
  await noteSkip(ctx, cluster.id, rank);
}

/**
 * Fetches what hooks wrote and how they ended, and what jobs printed last, as far as that can be, before the nodes go. Answers
 * `lost` where the head went away meanwhile, and may be looked at again.
 */
export async function fetchLogs(
  ctx: Context,
  cluster: Cluster,
  known: readonly StoredLifecycle[],
  looksAgain: boolean,
  signal: AbortSignal,
): Promise<typeof lost | undefined> {
  const isAsked = known.length === 0 || known.some(mayHaveLogs);
  if (isAsked) await adoptLifecycles(ctx, cluster, 0, signal).catch(() => signal.throwIfAborted());
  const open = isAsked ? (await listOpen(ctx.db, cluster.id)).filter(mayHaveLogs) : [];
  const fetch = (one: StoredLifecycle, limit: AbortSignal) =>
    fetchLogsOf(ctx, cluster, one, looksAgain && one.rank === 0, limit);
  const [fetched] = await limited(fetchLogsMs, signal, (limit) =>
    Promise.all([
      Promise.all(open.map((one) => fetch(one, limit))),
      keepLastLogs(ctx, cluster, limit),
    ]),
  );
  signal.throwIfAborted();
  return fetched.find((outcome) => outcome === lost);
}

/** Not where its node has said that it is ready, and that it has no hooks. */
const mayHaveLogs = ({ status, hooks }: StoredLifecycle): boolean =>
  status !== "READY" || hooks > 0;

async function fetchLogsOf(
  ctx: Context,
  cluster: Cluster,
  { id, rank, runs }: StoredLifecycle,
  looksAgain: boolean,
  signal: AbortSignal,
): Promise<typeof lost | undefined> {
  try {
    await fetchHookLogs(ctx, cluster, rank, id, signal);
  } catch (error) {
    ctx.log.warn({ err: error, clusterId: cluster.id, rank }, "hook logs not fetched");
    // What breaks off in the midst is no error of ours.
    const isAway = !(error instanceof AppError) || error.type === "UnreachableError";
    if (looksAgain && isAway && !signal.aborted) return lost;
    if (runs.length > 0)
      await remark(ctx, cluster.id, `node ${rank} was removed before its hook logs were copied`);
  }
  return undefined;
}
