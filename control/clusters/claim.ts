import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import { sizeOf } from "../../common/growing-file.ts";
import type { InputOf } from "../../common/operation.ts";
import { imageAt } from "../../contract/containers-api.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Image } from "../../contract/task/image.ts";
import { redactSecrets, type Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import { candidatesTable } from "../candidates.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { askedOfLaunch, candidateOf } from "../needs.ts";
import { describeAsked, describeMachines } from "../offer-words.ts";
import { chosenOf, weighOffers } from "../offers.ts";
import { withoutSecrets } from "../task.ts";
import { causeOf } from "../want.ts";
import { admitAutostop, admitLaunch } from "../workspaces/admit.ts";
import { apply } from "./apply.ts";
import { autostopOf } from "./autostop.ts";
import { loginOf } from "./files/contained.ts";
import { refuseManaged } from "./find.ts";
import { keptHooks, launchedHooks } from "./hooks/kept.ts";
import { setHooks } from "./hooks/store.ts";
import { refuseUnstoppable } from "./lifecycle.ts";
import { takeIdleStopBack } from "./lifecycles/take-back.ts";
import { addNewCluster, graceOf, newCluster } from "./new-cluster.ts";
import { provisionLogOf } from "./provision-log.ts";
import { type Cluster, isLeaving, type Wish } from "./schema.ts";
import { findCluster, findLive, getCluster, setGrace, setRelaunched } from "./store.ts";
import { makeWish, untilSettled } from "./wait.ts";

type Input = InputOf<typeof rows.launch>;

/** The cluster that a launch has, as it has left it, and what it wished of it. */
export interface Claim {
  readonly wish: Wish;
  readonly cluster: Cluster;
  /** The cluster before the launch; undefined where that has made it. */
  readonly before: Cluster | undefined;
}

/** What an earlier attempt at this request has claimed: it does not want the cluster up again. */
export async function findClaim(ctx: Ground, { progress }: Call): Promise<Claim | undefined> {
  const { wish } = progress;
  const cluster = wish && (await findCluster(ctx.db, wish.clusterId));
  return wish && cluster && { wish, cluster, before: cluster };
}

/**
 * The live cluster of this name, made when there is none: one cluster, however many ask at once. Undefined
 * where others were first, or have been waited for: what there is now is to be looked at again.
 */
export async function claim(
  ctx: Context,
  input: Input,
  task: Task,
  call: Call,
): Promise<Claim | undefined> {
  const live = await findLive(ctx.db, input.cluster_name);
  if (live === undefined) return make(ctx, input, task, call);
  if (isLeaving(live)) return untilFree(ctx, live, input, call);
  refuseManaged(live);
  refuseMismatch(live, task);
  return relaunch(ctx, live, input, task, call);
}

/** Waits until a cluster is what others want of it, or has the idle timer's wish taken back. */
async function untilFree(
  ctx: Context,
  live: Cluster,
  input: Input,
  call: Call,
): Promise<undefined> {
  const isTaken = input.cancel_stop && (await takeIdleStopBack(ctx, live, causeOf(call, "launch")));
  await untilSettled(ctx, isTaken ? await getCluster(ctx.db, live.id) : live, call);
}

/** Writes a new cluster; undefined when another launch of the name was first. */
async function make(
  ctx: Context,
  input: Input,
  task: Task,
  call: Call,
): Promise<Claim | undefined> {
  const again = input.retry_until_up;
  const asked = await askedOfLaunch(ctx, task, call.workspace);
  const choice = await weighOffers(ctx, asked, call.signal, { again });
  if (!input.quiet_optimizer) call.print(candidatesTable(ctx, asked, choice));
  const offer = await chosenOf(ctx, asked, choice, call.signal);
  const cluster = newCluster(ctx, asked, offer, {
    id: randomBytes(6).toString("hex"),
    name: input.cluster_name,
    wantedBecause: causeOf(call, "launch").because,
    user: call.user,
    workspace: call.workspace,
    madeFor: null,
    ...launchOf(input, task, call, { offer, autostop: null }),
  });
  if (cluster.autostop?.down === false) refuseUnstoppable(ctx, cluster);
  const wish = { clusterId: cluster.id, isNew: true, printed: 0 };
  await call.remember({ wish });
  const isMade = await addNewCluster(ctx, cluster, task, (tx) =>
    admitLaunch(ctx, tx, cluster, call),
  );
  return isMade ? { wish, cluster, before: undefined } : undefined;
}

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
export function refuseMismatch(cluster: Cluster, task: Task): void {
  const { nodes, resources } = task;
  const isLarge = nodes <= cluster.nodes;
  const candidate = candidateOf(resources, cluster.offer);
  const [asked, has] = [candidate?.image, cluster.machine.image].map(containerIn);
  // An adopted cluster has the whole name of an image whose registry its task named in a login.
  if (asked !== undefined && asked !== has && imageAt(asked, loginOf(task)) !== has)
    fail(
      "ResourcesMismatchError",
      `the jobs of cluster ${cluster.name} run ${has ? `in ${has}` : "in no container"}, the task asks for ${asked}; ` +
        "take the cluster down first, or launch under another name",
    );
  if (isLarge && candidate !== undefined) return;
  fail(
    "ResourcesMismatchError",
    `cluster ${cluster.name} has ${describeMachines(cluster)}, the task asks for ` +
      `${describeAsked({ nodes, resources })}; take the cluster down first, or launch under another name`,
  );
}

const containerIn = (image: Image | undefined): string | undefined =>
  image?.kind === "container" ? image.name : undefined;

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
): Promise<Claim | undefined> {
  const launched = launchOf(input, task, call, live);
  const { autostop } = launched;
  const kept = await keptHooks(ctx, live.id);
  const hooks = launchedHooks(ctx, task, { ...live, autostop, before: kept, user: call.user });
  const wish = { clusterId: live.id, printed: await sizeOf(provisionLogOf(ctx, live.id)) };
  const launchedAt = ctx.now().getTime();
  await ctx.batch(async (tx) => {
    await admitAutostop(ctx, tx, live, autostop);
    await setRelaunched(tx, live.id, { ...launched, launchedAt });
    if (task.hooks !== undefined) await setGrace(tx, live.id, graceOf(task.hooks));
    if (hooks !== undefined) await setHooks(tx, live.id, hooks);
  });
  await apply(ctx, live, call.signal);
  const isMade = await makeWish(ctx, wish, { wanted: "UP", ...causeOf(call, "launch") }, call);
  return isMade ? { wish, cluster: { ...live, autostop }, before: live } : undefined;
}
