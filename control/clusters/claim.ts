import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { redactSecrets, type Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { sizeOf } from "../growing-file.ts";
import { candidateOf, chooseOffer, describeMachines, describeNeeds } from "../offers.ts";
import type { Offer } from "../providers/provider.ts";
import { nudge } from "../reconciler.ts";
import { autostopOf } from "./autostop.ts";
import { applyAutostop } from "./lifecycle.ts";
import { provisionLogOf } from "./provision-log.ts";
import { type Cluster, isLeaving, type Wish } from "./schema.ts";
import { addCluster, findCluster, findLive, setRelaunched } from "./store.ts";
import { withoutSecrets } from "./task.ts";
import { makeWish, untilSettled } from "./wait.ts";

type Input = InputOf<typeof rows.launch>;
const workspace = "default";

/**
 * The live cluster of this name, made when there is none: one cluster, however many ask at once. A
 * second attempt finds the cluster of the first, and does not want it up again.
 */
export async function claim(ctx: Context, input: Input, task: Task, call: Call): Promise<Wish> {
  const { wish } = call.progress;
  const known = wish && (await findCluster(ctx.db, wish.clusterId));
  if (wish !== undefined && known !== undefined) {
    tell(known, call);
    return wish;
  }
  for (;;) {
    const live = await findLive(ctx.db, input.cluster_name);
    if (live === undefined) {
      const offer = await chooseOffer(ctx, task.resources, call.signal);
      const made = await make(ctx, newCluster(ctx, input, task, offer, call), call);
      if (made !== undefined) return made;
    } else if (isLeaving(live)) await untilSettled(ctx, live, call);
    else {
      refuseMismatch(live, task);
      return relaunch(ctx, live, input, task, call);
    }
  }
}

/** Writes a new cluster; undefined when another launch of the name was first. */
async function make(ctx: Context, cluster: Cluster, call: Call): Promise<Wish | undefined> {
  const wish = { clusterId: cluster.id, isNew: true, printed: 0 };
  await call.remember({ wish });
  if (!(await ctx.batch((tx) => addCluster(tx, cluster)))) return undefined;
  tell(cluster, call);
  void nudge(ctx, "cluster", cluster.id);
  return wish;
}

const tell = (cluster: Cluster, call: Call): void =>
  call.print(`Cluster ${cluster.name}: ${describeMachines(cluster)}\n`);

function newCluster(ctx: Context, input: Input, task: Task, offer: Offer, call: Call): Cluster {
  const now = ctx.now().getTime();
  return {
    id: randomBytes(6).toString("hex"),
    name: input.cluster_name,
    status: "INIT",
    wanted: "UP",
    wantedBecause: `launch by ${call.user.name}`,
    user: call.user,
    workspace,
    provider: offer.provider,
    nodes: task.nodes,
    offer,
    ...launchOf(input, task, call, { offer, autostop: null }),
    addresses: [],
    labels: { ...candidateOf(task.resources, offer)?.labels },
    problem: null,
    everUp: false,
    launchedAt: now,
    statusChangedAt: now,
  };
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
export function refuseMismatch(cluster: Cluster, { nodes, resources }: Task): void {
  const isLarge = nodes <= cluster.nodes;
  if (isLarge && candidateOf(resources, cluster.offer) !== undefined) return;
  fail(
    "ResourcesMismatchError",
    `cluster ${cluster.name} has ${describeMachines(cluster)}, the task asks for ${nodes} with ` +
      `${describeNeeds(resources)}; take the cluster down first, or launch under another name`,
  );
}

/** Another task on a cluster that exists; it is started when it was stopped. */
async function relaunch(
  ctx: Context,
  live: Cluster,
  input: Input,
  task: Task,
  call: Call,
): Promise<Wish> {
  const launched = launchOf(input, task, call, live);
  const launchedAt = ctx.now().getTime();
  tell(live, call);
  const wish = { clusterId: live.id, printed: await sizeOf(provisionLogOf(ctx, live.id)) };
  await ctx.batch((tx) => setRelaunched(tx, live.id, { ...launched, launchedAt }));
  if (live.status === "UP") await applyAutostop(ctx, { ...live, ...launched }, call.signal);
  await makeWish(ctx, wish, { wanted: "UP", because: `launch by ${call.user.name}` }, call);
  return wish;
}
