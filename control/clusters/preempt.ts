import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Call, Progress } from "../bind.ts";
import type { Context } from "../context.ts";
import { nodeIdOf } from "../doors/node-id.ts";
import { addEvent } from "../events.ts";
import { nudge } from "../reconciler.ts";
import { causeOf } from "../want.ts";
import { getRunning } from "./find.ts";
import { nodeOf } from "./head.ts";
import { type Cluster, clusterKey } from "./schema.ts";
import { findCluster } from "./store.ts";
import { tellOwner } from "./watch.ts";

type Input = InputOf<typeof rows.preempt>;
type Preemption = NonNullable<Progress["preemption"]>;

/** Plays a cloud that takes machines back: a notice, the time until then, and the nodes are gone. */
export async function preempt(ctx: Context, input: Input, call: Call): Promise<null> {
  const preemption = call.progress.preemption ?? (await begin(ctx, input, call));
  const { clusterId, ranks, lifecycles = [], at } = preemption;
  const leftMs = Math.max(0, at - ctx.now().getTime());
  await call.aside(sleep(leftMs, undefined, { signal: call.signal }));
  const cluster = await findCluster(ctx.db, clusterId);
  if (cluster === undefined || cluster.status === "GONE") {
    call.print(`cluster ${input.cluster_name} is already gone\n`);
    return null;
  }
  for (const [index, rank] of ranks.entries())
    if (await isStillIt(ctx, cluster, rank, lifecycles[index], call))
      await takeAway(ctx, cluster, rank, call);
    else call.print(`node ${rank} of ${cluster.name} was replaced meanwhile and is not affected\n`);
  return null;
}

/** Whether a node is the one that was told; one that does not answer is taken for it. */
async function isStillIt(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  id: string | undefined,
  { signal }: Call,
): Promise<boolean> {
  if (id === undefined) return true;
  try {
    const told = await nodeOf(ctx, cluster, rank).call(api.getLifecycle, { id }, { signal });
    return told.endedAt === null;
  } catch (error) {
    signal.throwIfAborted();
    return !(error instanceof AppError && error.type === "NotFoundError");
  }
}

/** Tells the nodes, unless they are lost without a notice. */
async function begin(ctx: Context, input: Input, call: Call): Promise<Preemption> {
  const cluster = await getRunning(ctx, input.cluster_name);
  powerOf(ctx, cluster);
  const ranks = ranksOf(cluster, input.rank);
  const { because, by } = causeOf(call, "preempt");
  const seconds = input.lose ? 0 : input.notice_seconds;
  const at = ctx.now().getTime() + Math.round(seconds * 1_000);
  const notice = { because, deadlineAt: at };
  const tell = (rank: number) =>
    nodeOf(ctx, cluster, rank).call(api.preempt, notice, { signal: call.signal });
  const told = input.lose ? [] : await Promise.all(ranks.map(tell));
  const lifecycles = told.map(({ id }) => id);
  const preemption = { clusterId: cluster.id, ranks, lifecycles, at };
  const when = input.lose ? "without a notice" : `in ${seconds} s`;
  const reason = `${nodesOf(ranks)} taken away ${when}: ${because}`;
  await call.remember({ preemption }, (tx) =>
    addEvent(tx, {
      ...{ noun: "cluster", id: cluster.id, reason, actor: by },
      ...{ isNoteworthy: true, at: ctx.now() },
    }),
  );
  const hooks = `; its hooks: ${product.word} logs --hook ${cluster.name}`;
  call.print(`cluster ${cluster.name}: ${reason}${input.lose ? "" : hooks}\n`);
  return preemption;
}

/** What takes a node away; throws `NotSupportedError` where that is for the provider alone to do. */
const powerOf = (ctx: Context, { name, provider }: Cluster) =>
  ctx.provider(provider).takeAway ??
  fail(
    "NotSupportedError",
    `cluster ${name} runs on ${provider}, where only ${provider} takes machines away; preempt is for clusters on this machine (--infra local)`,
  );

function ranksOf({ name, nodes }: Cluster, rank: number | null): readonly number[] {
  if (rank === null) return [...Array(nodes).keys()];
  if (rank < nodes) return [rank];
  return fail("ValueError", `cluster ${name} has nodes 0 to ${nodes - 1}, not ${rank}`);
}

const nodesOf = (ranks: readonly number[]): string =>
  ranks.length === 1 ? `node ${ranks[0]} is` : `nodes ${ranks.join(", ")} are`;

async function takeAway(ctx: Context, cluster: Cluster, rank: number, call: Call): Promise<void> {
  await powerOf(ctx, cluster)(nodeIdOf(cluster, rank), call.signal);
  const { because: reason, by: actor } = causeOf(call, `node ${rank} was taken away: preempt`);
  const event = { noun: "cluster", id: cluster.id, reason, actor, at: ctx.now() };
  await ctx.batch((tx) => addEvent(tx, event));
  call.print(`node ${rank} of ${cluster.name} is gone\n`);
  ctx.changes.notify(clusterKey(cluster.id));
  void nudge(ctx, "cluster", cluster.id);
  await tellOwner(ctx, cluster);
}
