import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import { sizeOf } from "../../common/growing-file.ts";
import type { InputOf } from "../../common/operation.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { redactSecrets, type Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { describeAsked, describeMachines } from "../offer-words.ts";
import { candidateOf, chooseOffer } from "../offers.ts";
import type { Offer } from "../providers/provider.ts";
import { nudge } from "../reconciler.ts";
import { withoutSecrets } from "../task.ts";
import { causeOf } from "../want.ts";
import { admitAutostop, admitLaunch } from "../workspaces/admit.ts";
import { apply } from "./apply.ts";
import { autostopNews, autostopOf } from "./autostop.ts";
import { refuseManaged } from "./find.ts";
import { bringsHooks, keptHooks, launchedHooks, noneKept } from "./hooks/kept.ts";
import { setHooks } from "./hooks/store.ts";
import { entriesOf } from "./hooks/told.ts";
import { hooksLine, remarkOnNotice } from "./hooks/view.ts";
import { setRelaunched } from "./launch-store.ts";
import { takeIdleStopBack } from "./lifecycles/take-back.ts";
import { newCluster } from "./new-cluster.ts";
import { provisionLogOf } from "./provision-log.ts";
import { type Cluster, isLeaving, type Wish } from "./schema.ts";
import { addCluster, findCluster, findLive, getCluster } from "./store.ts";
import { makeWish, untilSettled } from "./wait.ts";

type Input = InputOf<typeof rows.launch>;

/**
 * The live cluster of this name, made when there is none: one cluster, however many ask at once. A
 * second attempt finds the cluster of the first, and does not want it up again.
 */
export async function claim(ctx: Context, input: Input, task: Task, call: Call): Promise<Wish> {
  const { wish } = call.progress;
  const known = wish && (await findCluster(ctx.db, wish.clusterId));
  if (wish !== undefined && known !== undefined) {
    await tell(ctx, known, task, call);
    return wish;
  }
  return claimAnew(ctx, input, task, call);
}

/** As `claim`, whatever this request wished before. */
export async function claimAnew(ctx: Context, input: Input, task: Task, call: Call): Promise<Wish> {
  for (;;) {
    const live = await findLive(ctx.db, input.cluster_name);
    if (live === undefined) {
      const again = input.retry_until_up;
      const offer = await chooseOffer(ctx, { ...task, workspace: call.workspace }, call.signal, {
        again,
      });
      const made = await make(ctx, launched(ctx, input, task, offer, call), task, call);
      if (made !== undefined) return made;
    } else if (isLeaving(live)) await untilFree(ctx, live, input, call);
    else {
      refuseManaged(live);
      refuseMismatch(live, task);
      const wish = await relaunch(ctx, live, input, task, call);
      if (wish !== undefined) return wish;
    }
  }
}

/** Waits until a cluster is what others want of it, or has the idle timer's wish taken back. */
async function untilFree(ctx: Context, live: Cluster, input: Input, call: Call): Promise<void> {
  const cause = causeOf(call, "launch");
  const isTaken = input.cancel_stop && (await takeIdleStopBack(ctx, live, cause));
  await untilSettled(ctx, isTaken ? await getCluster(ctx.db, live.id) : live, call);
}

/** Writes a new cluster; undefined when another launch of the name was first. */
async function make(
  ctx: Context,
  cluster: Cluster,
  task: Task,
  call: Call,
): Promise<Wish | undefined> {
  const wish = { clusterId: cluster.id, isNew: true, printed: 0 };
  const hooks = launchedHooks(ctx, task, { ...cluster, before: noneKept });
  await call.remember({ wish });
  const isMade = await ctx.batch(async (tx) => {
    const isAdded = await addCluster(tx, cluster);
    if (isAdded) await admitLaunch(ctx, tx, cluster, call);
    if (isAdded && hooks !== undefined) await setHooks(tx, cluster.id, hooks);
    return isAdded;
  });
  if (!isMade) return undefined;
  await tell(ctx, cluster, task, call, autostopNews(cluster.autostop));
  void nudge(ctx, "cluster", cluster.id);
  return wish;
}

async function tell(ctx: Context, cluster: Cluster, task: Task, call: Call, news = "") {
  const { hooks } = await keptHooks(ctx, cluster.id);
  call.print(`Cluster ${cluster.name}: ${describeMachines(cluster)}\n`);
  call.print(news);
  call.print(hooksLine(entriesOf(hooks, cluster), !bringsHooks(task)));
  call.print(remarkOnNotice(ctx.provider(cluster.provider), task.hooks));
}

const launched = (ctx: Ground, input: Input, task: Task, offer: Offer, call: Call): Cluster =>
  newCluster(ctx, task, offer, {
    id: randomBytes(6).toString("hex"),
    name: input.cluster_name,
    wantedBecause: causeOf(call, "launch").because,
    user: call.user,
    workspace: call.workspace,
    madeFor: null,
    ...launchOf(input, task, call, { offer, autostop: null }),
  });

/** What every launch sets; autostop stays as it is where the launch does not mention it. */
function launchOf(
  input: Input,
  task: Task,
  call: Call,
  { offer, autostop }: Pick<Cluster, "offer" | "autostop">,
) {
  return {
    taskYaml: redactSecrets(input.task),
    command: withoutSecrets(call.command, task),
    ports: [...(candidateOf(task.resources, offer)?.ports ?? [])],
    autostop: autostopOf(input, task, autostop),
  };
}

/** Throws `ResourcesMismatchError` when a task asks for more than its cluster has. */
export function refuseMismatch(cluster: Cluster, { nodes, resources }: Task): void {
  const isLarge = nodes <= cluster.nodes;
  if (isLarge && candidateOf(resources, cluster.offer) !== undefined) return;
  fail(
    "ResourcesMismatchError",
    `cluster ${cluster.name} has ${describeMachines(cluster)}, the task asks for ` +
      `${describeAsked({ nodes, resources })}; take the cluster down first, or launch under another name`,
  );
}

/**
 * Another task on a cluster that exists; it is started when it was stopped. Undefined where it is being
 * deleted by now.
 */
async function relaunch(
  ctx: Context,
  live: Cluster,
  input: Input,
  task: Task,
  call: Call,
): Promise<Wish | undefined> {
  const launched = launchOf(input, task, call, live);
  const launchedAt = ctx.now().getTime();
  const before = await keptHooks(ctx, live.id);
  const { autostop } = launched;
  const hooks = launchedHooks(ctx, task, { ...live, autostop, before, user: call.user });
  const wish = { clusterId: live.id, printed: await sizeOf(provisionLogOf(ctx, live.id)) };
  await ctx.batch(async (tx) => {
    await admitAutostop(ctx, tx, live, autostop);
    await setRelaunched(tx, live.id, { ...launched, launchedAt });
    if (hooks !== undefined) await setHooks(tx, live.id, hooks);
  });
  await tell(ctx, { ...live, autostop }, task, call, autostopNews(autostop, live.autostop));
  await apply(ctx, live, call.signal);
  const desire = { wanted: "UP", ...causeOf(call, "launch") } as const;
  return (await makeWish(ctx, wish, desire, call)) ? wish : undefined;
}
