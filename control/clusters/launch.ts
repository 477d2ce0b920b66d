import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Task } from "../../contract/task.ts";
import { redactSecrets } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Offer } from "../providers/provider.ts";
import { nudge } from "../reconciler.ts";
import { sizeOf } from "../requests/log.ts";
import { autostopOf } from "./autostop.ts";
import { applyAutostop } from "./lifecycle.ts";
import { chooseOffer, describeOffer } from "./offers.ts";
import { elapsed, provisionLogOf } from "./provision-log.ts";
import { type AutostopSetting, type Cluster, isChanging, isClusterName } from "./schema.ts";
import { addCluster, findCluster, findLive, getCluster, setRelaunched } from "./store.ts";
import { submitJob } from "./submit.ts";
import { readTask, remarksOn } from "./task.ts";
import { toHandle } from "./view.ts";
import { undo, untilReached, untilSettled, want } from "./wait.ts";

type Input = InputOf<typeof rows.launch>;
const workspace = "default";

/** Creates a cluster, or takes the one of that name, and runs a task on it. */
export async function launch(ctx: Context, input: Input, call: Call) {
  const since = ctx.now();
  const task = readTask(input.task, "launch");
  const offer = await chooseOffer(ctx, task.resources, call.signal);
  call.print(`${remarksOn(input.task)}${planOf(task, offer, input.cluster_name)}\n`);
  if (input.dryrun) return { job_id: null, handle: null };

  const up = await bringUp(ctx, input, task, offer, call);
  call.print(`Cluster ${up.name} is UP (${elapsed(since, ctx.now())})\n`);
  const job = await submitJob(ctx, up, task, { withSetup: !input.no_setup }, call);
  return { job_id: job?.id ?? null, handle: toHandle(up) };
}

/** What the row's shapes cannot say of a launch. */
export function checkLaunch(input: Input): void {
  if (!isClusterName(input.cluster_name))
    fail(
      "InvalidClusterNameError",
      `${JSON.stringify(input.cluster_name)} cannot name a cluster: begin with a letter, end with ` +
        "a letter or digit, use letters, digits, - _ and . in between, 120 at most",
    );
  readTask(input.task, "launch");
}

const planOf = (task: Task, offer: Offer, name: string): string =>
  `Cluster ${name}: ${task.nodes} node${task.nodes === 1 ? "" : "s"} on ${describeOffer(offer)}`;

/** The cluster of this launch, once it is up; one that it made is removed when it cannot be had. */
async function bringUp(
  ctx: Context,
  input: Input,
  task: Task,
  offer: Offer,
  call: Call,
): Promise<Cluster> {
  const { id, printed } = await claim(ctx, input, task, offer, call);
  try {
    return await untilReached(ctx, id, "UP", call, { keepTrying: input.retry_until_up, printed });
  } catch (error) {
    const { wanted, problem, name } = await getCluster(ctx.db, id);
    if (call.progress["isNew"] === true && wanted === "UP" && problem !== null)
      await undo(ctx, { id, name }, "its launch failed");
    throw error;
  }
}

/** A cluster that is wanted up, and how much of its provisioning log was there before. */
interface Claim {
  id: string;
  printed: number;
}

/**
 * The live cluster of this name, made when there is none: one cluster, however many ask at once. A
 * second attempt finds the cluster of the first, and does not want it up again.
 */
async function claim(
  ctx: Context,
  input: Input,
  task: Task,
  offer: Offer,
  call: Call,
): Promise<Claim> {
  const { clusterId } = call.progress;
  const known = typeof clusterId === "string" ? await findCluster(ctx.db, clusterId) : undefined;
  if (known !== undefined) return claimOf(ctx, known.id);
  for (;;) {
    const live = await findLive(ctx.db, input.cluster_name);
    if (live === undefined) {
      const made = await make(ctx, newCluster(ctx, input, task, offer, call), call);
      if (made !== undefined) return made;
    } else if (isChanging(live) && live.wanted !== "UP") await untilSettled(ctx, live, call);
    else {
      refuseMismatch(live, task);
      return relaunch(ctx, live, input, task, call);
    }
  }
}

const claimOf = async (ctx: Context, id: string): Promise<Claim> => ({
  id,
  printed: await sizeOf(provisionLogOf(ctx, id)),
});

/** Writes a new cluster; undefined when another launch of the name was first. */
async function make(ctx: Context, cluster: Cluster, call: Call): Promise<Claim | undefined> {
  await call.remember({ clusterId: cluster.id, isNew: true });
  if (!(await ctx.batch((tx) => addCluster(tx, cluster)))) return undefined;
  void nudge(ctx, "cluster", cluster.id);
  return { id: cluster.id, printed: 0 };
}

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
    ...launchOf(input, task, call, null),
    addresses: [],
    labels: { ...task.resources.candidates[0]?.labels },
    problem: null,
    everUp: false,
    launchedAt: now,
    statusChangedAt: now,
  };
}

/** What every launch sets; autostop stays as it is where the launch does not mention it. */
function launchOf(input: Input, task: Task, call: Call, before: AutostopSetting | null) {
  return {
    taskYaml: redactSecrets(input.task),
    command: call.command,
    ports: [...(task.resources.candidates[0]?.ports ?? [])],
    autostop: autostopOf(input, task, before),
  };
}

function refuseMismatch(cluster: Cluster, task: Task): void {
  const { name, nodes, offer } = cluster;
  const wanted = task.resources.candidates.map(({ accelerator }) => accelerator);
  if (task.nodes > nodes)
    fail(
      "ResourcesMismatchError",
      `the task asks for ${task.nodes} nodes, cluster ${name} has ${nodes}; take it down first, ` +
        "or launch under another name",
    );
  const fits = wanted.some(
    (kind) =>
      kind === undefined ||
      ("name" in kind &&
        kind.name.toLowerCase() === offer.accelerators?.name.toLowerCase() &&
        kind.count <= offer.accelerators.count),
  );
  if (!fits)
    fail(
      "ResourcesMismatchError",
      `cluster ${name} has ${describeOffer(offer)}, which the task does not fit; launch under another name`,
    );
}

/** Another task on a cluster that exists; it is started when it was stopped. */
async function relaunch(
  ctx: Context,
  live: Cluster,
  input: Input,
  task: Task,
  call: Call,
): Promise<Claim> {
  const launched = launchOf(input, task, call, live.autostop);
  const launchedAt = ctx.now().getTime();
  const claimed = await claimOf(ctx, live.id);
  await ctx.batch((tx) => setRelaunched(tx, live.id, { ...launched, launchedAt }));
  if (live.status === "UP") await applyAutostop(ctx, { ...live, ...launched }, call.signal);
  await want(ctx, live.id, "UP", `launch by ${call.user.name}`);
  await call.remember({ clusterId: live.id, isNew: false });
  return claimed;
}
