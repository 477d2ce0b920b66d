import { setImmediate as nextTurn } from "node:timers/promises";
import { type AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import { candidatesTable } from "../candidates.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { askedOfLaunch } from "../needs.ts";
import { chosenOf, weighOffers } from "../offers.ts";
import type { Offer } from "../providers/provider.ts";
import { nudge } from "../reconciler.ts";
import { withStoredSecrets } from "../secrets/fill.ts";
import { readTask, readTaskAndRemarks } from "../task.ts";
import { withVolumes } from "../volumes/place.ts";
import { admitAutostop, admitCluster, admitLaunch } from "../workspaces/admit.ts";
import { withDefaults } from "../workspaces/defaults.ts";
import { autostopOf } from "./autostop.ts";
import { type Claim, claim, findClaim, refuseMismatch } from "./claim.ts";
import { checkFiles, readCargo } from "./files/cargo.ts";
import { isOfContainer, isRefusal } from "./files/contained.ts";
import type { Cargo } from "./files/parcels.ts";
import { headOf } from "./head.ts";
import { launchNews, planNews } from "./launch-news.ts";
import { isIdleStop } from "./lifecycles/take-back.ts";
import { findOpenOfHead } from "./lifecycles/wanted.ts";
import { type AskedIn, type Cluster, checkClusterName, clusterKey, type Wish } from "./schema.ts";
import { findLive, getCluster } from "./store.ts";
import { isAboutToGo, submitJob } from "./submit.ts";
import { toHandle } from "./view.ts";
import { undo, untilReached } from "./wait.ts";
import { takeBack } from "./want.ts";

type Input = InputOf<typeof rows.launch>;

/** Creates a cluster, or takes the one of that name, and runs a task on it. */
export async function launch(ctx: Context, given: Input, call: Call) {
  const whole = await withDefaultsIfNew(ctx, given, call);
  const yaml = await withVolumes(ctx, await withStoredSecrets(ctx, whole, call), call);
  const input = { ...given, task: yaml };
  const [task, remarks] = await readTaskAndRemarks(ctx, input.task, "launch");
  call.print(remarks);
  // The text of a large task is read once more where its cluster is written; others have their turn first.
  await nextTurn();
  if (input.dryrun) return plan(ctx, input, task, call);
  const cargoes = await readCargo(ctx, task, input, "all", call);

  for (let claimed = await findClaim(ctx, call); ; claimed = await claim(ctx, input, task, call)) {
    const done = claimed && (await handIn(ctx, input, { task, cargoes }, claimed, call));
    if (done !== undefined) return done;
  }
}

/** The text of the task; the defaults of the workspace are for the machines of new clusters. */
async function withDefaultsIfNew(
  ctx: Ground,
  { task, cluster_name: name }: Input,
  { progress, workspace }: Call,
): Promise<string> {
  const isOthers = progress.wish?.isNew !== true && (await findLive(ctx.db, name)) !== undefined;
  return isOthers ? task : withDefaults(ctx, workspace, task);
}

/** Runs the task once its cluster is up; undefined when the cluster is stopped under its hands. */
async function handIn(
  ctx: Context,
  input: Input,
  { task, cargoes }: { task: Task; cargoes: readonly Cargo[] },
  claimed: Claim,
  call: Call,
) {
  call.print(await launchNews(ctx, claimed, task));
  const up = await bringUp(ctx, input, claimed.wish, call);
  if (up === undefined) return undefined;
  // Another launch may have made it, and it may be at an offer that suits that one alone.
  refuseMismatch(up, task);
  try {
    const given = { withSetup: !input.no_setup, reusesSetup: input.fast, cargoes };
    const job = await submitJob(ctx, up, task, given, call);
    return { job_id: job?.id ?? null, handle: toHandle(up) };
  } catch (error) {
    if (claimed.wish.isNew && isOfContainer(error)) await leaveOrUndo(ctx, up, error, call);
    if (!isAboutToGo(error)) throw error;
    return untilDecided(ctx, up, error.message, call);
  }
}

/**
 * Removes a cluster whose image or options are refused, unless it has jobs of others. Any other trouble of a node or a
 * registry may pass, and its machines may be hard to get again.
 */
async function leaveOrUndo(
  ctx: Context,
  cluster: Cluster,
  error: AppError,
  call: Call,
): Promise<void> {
  const { name } = cluster;
  if (!isRefusal(error))
    return call.print(
      `cluster ${name} stays up without its container; launch again, or take it down: ${product.word} down ${name}\n`,
    );
  if (await hasJobs(ctx, cluster, call)) return;
  // Hooks would run outside of the container.
  const desire = { because: "its container cannot be made", skipHooks: true };
  await undo(ctx, cluster, desire, async () => {
    // A job may have been accepted before others could see that.
    if (!(await hasJobs(ctx, cluster, call))) return;
    const cause = { because: "it has jobs of others" };
    await ctx.batch((tx) => takeBack(tx, { ...cluster, wanted: "GONE" }, cause));
  });
}

/** Whether others may have given a cluster something to do. */
const hasJobs = (ctx: Context, cluster: Cluster, { signal }: Call): Promise<boolean> =>
  headOf(ctx, cluster)
    .call(agentOperations.listJobs, { limit: 1 }, { signal })
    .then(({ length }) => length > 0)
    .catch(() => true);

/** Waits until what makes a head refuse jobs is over, or has become what is wanted of the cluster. */
async function untilDecided(
  ctx: Context,
  { id, name }: Cluster,
  why: string,
  call: Call,
): Promise<undefined> {
  await nudge(ctx, "cluster", id, call.signal);
  await call.note(`waits until cluster ${name} accepts jobs again: ${why}`);
  const look = async () => {
    const { status, wanted } = await getCluster(ctx.db, id);
    if (status !== "UP" || wanted !== "UP") return true;
    return (await findOpenOfHead(ctx.db, { id })) === undefined || undefined;
  };
  await call.aside(ctx.changes.until(clusterKey(id), look, call.signal));
  await call.note(null);
}

/** What the row's shapes cannot say of a launch. */
export function checkLaunch(input: Input): void {
  if (input.resize)
    fail(
      "NotSupportedError",
      "a cluster cannot be resized yet; take it down and launch it with the number of nodes that you want",
    );
  checkClusterName(input.cluster_name);
  const task = readTask(input.task, "launch");
  if (!input.dryrun) checkFiles(task, "all");
}

/** Says what a launch would take, or which limit refuses it, and makes nothing. */
async function plan(ctx: Context, input: Input, task: Task, call: Call) {
  const { cluster_name: name } = input;
  const live = await findLive(ctx.db, name);
  if (live !== undefined) refuseMismatch(live, task);
  const { nodes } = live ?? task;
  const asked = await askedOfLaunch(ctx, task, call.workspace);
  const offer = live?.offer ?? (await planOffer(ctx, asked, call));
  const autostop = autostopOf(input, task, live?.autostop ?? null);
  const fresh = { id: "", workspace: call.workspace, nodes, madeFor: null };
  const cluster = { ...(live ?? fresh), offer, autostop };
  // Nothing is written; what has room now may have none once it is launched.
  await ctx.batch(async (tx) => {
    if (live === undefined) return admitLaunch(ctx, tx, cluster, call);
    await admitAutostop(ctx, tx, cluster, autostop);
    if (live.status === "STOPPED") await admitCluster(ctx, tx, cluster);
  });
  call.print(planNews(ctx, { name, nodes, offer }, task));
  return { job_id: null, handle: null };
}

/** The machine that a new cluster would have; says what else there is. */
async function planOffer(ctx: Context, asked: AskedIn, call: Call): Promise<Offer> {
  const choice = await weighOffers(ctx, asked, call.signal);
  call.print(candidatesTable(ctx, asked, choice));
  return chosenOf(ctx, asked, choice, call.signal);
}

/**
 * The cluster of this launch, once it is up; undefined when its idle timer was first. One that the
 * launch made is removed when it cannot be had.
 */
async function bringUp(ctx: Context, input: Input, wish: Wish, call: Call) {
  const { clusterId: id, isNew, printed } = wish;
  try {
    return await untilReached(ctx, id, "UP", call, { keepTrying: input.retry_until_up, printed });
  } catch (error) {
    if (call.signal.aborted) throw error;
    const { wanted, problem, name } = await getCluster(ctx.db, id);
    if (await isIdleStop(ctx, { id, name })) return undefined;
    if (isNew && wanted === "UP" && problem !== null)
      await undo(ctx, { id, name }, { because: "its launch failed" });
    throw error;
  }
}
