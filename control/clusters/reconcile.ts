import { isDeepStrictEqual } from "node:util";
import { fail } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Health } from "../../contract/agent-shapes.ts";
import { clusterMachine } from "../../contract/statuses.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { move } from "../move.ts";
import type { NodeState } from "../providers/provider.ts";
import { type Aside, obsolete, type Reconciler } from "../reconciler.ts";
import { failureOf } from "../requests/schema.ts";
import { actStep, isQuick, makesNodes, type Pass } from "./act.ts";
import { healthOf, healthTimeoutMs, lastHealth, noAnswers, nodesOf } from "./answers.ts";
import { isOutdated } from "./create.ts";
import { knowsHooks } from "./hooks/told.ts";
import { isReleased } from "./lifecycles/plan.ts";
import type { StoredLifecycle } from "./lifecycles/schema.ts";
import { findLifecycle, listOpen } from "./lifecycles/store.ts";
import { listUnsettled, listUp } from "./list-store.ts";
import { plans } from "./plan.ts";
import {
  describeSteps,
  later,
  lost,
  makingLane,
  type Observed,
  refused,
  type Step,
  waiting,
} from "./planning.ts";
import { remark } from "./provision-log.ts";
import { type Cluster, clusterKey, settingsOf } from "./schema.ts";
import { findCluster, getCluster, setProblem } from "./store.ts";
import { tellOwner } from "./watch.ts";

/** More rounds than any way from one wish to another takes. */
const roundsAtMost = 20;
/** How often a pass looks again at agents that go away while they are spoken to. */
const lossesAtMost = 3;

/** Brings clusters from what is to what is wanted. */
export const clusters: Reconciler = {
  name: "cluster",
  everyMs: 5_000,
  atOnce: 16,
  due,
  reconcile,
};

/** Clusters that are not what is wanted, and those that are up and nobody listens to. */
async function due(ctx: Context): Promise<string[]> {
  const unheard = (await listUp(ctx.db)).filter((id) => !ctx.watches.has(id));
  return [...(await listUnsettled(ctx.db)), ...unheard];
}

async function reconcile(
  ctx: Context,
  id: string,
  signal: AbortSignal,
  aside: Aside,
): Promise<void> {
  const cluster = await findCluster(ctx.db, id);
  if (cluster === undefined) return ctx.watches.forget(id);
  await settle(ctx, cluster, signal, aside).finally(() => tellOwner(ctx, cluster));
}

/** Observe, plan, act, until nothing is left to do. */
async function settle(
  ctx: Context,
  cluster: Cluster,
  signal: AbortSignal,
  aside: Aside,
): Promise<void> {
  const { id } = cluster;
  let answers = noAnswers();
  let losses = 0;
  for (let round = 1; ; round += 1, cluster = await getCluster(ctx.db, id)) {
    if (cluster.status === "GONE") return ctx.watches.forget(id);
    try {
      if (round > roundsAtMost) refuseUnsettled(cluster);
      const looksAgain = losses < lossesAtMost;
      const outcome = await goOn({ ctx, cluster, answers, looksAgain, signal }, aside);
      if (outcome === "settled") return ctx.watches.keep(cluster, lastHealth(answers));
      if (outcome === waiting) return ctx.watches.forget(id);
      if (outcome === lost) {
        losses += 1;
        answers = noAnswers();
      }
      // There is an end to the offers.
      if (outcome === refused) round = 0;
    } catch (error) {
      if (error === obsolete) continue;
      if (!signal.aborted) await tellProblem(ctx, cluster, error);
      throw error;
    }
  }
}

/** Nothing failed, and yet its nodes are never as they were made. */
function refuseUnsettled({ name }: Cluster): never {
  fail(
    "CloudError",
    `cluster ${name} does not become stable: its nodes needed an action at each of ${roundsAtMost} ` +
      "checks; see its events, or take it down",
  );
}

type Looking = Omit<Pass, "nodes" | "open">;

/** One round; settled when there was nothing to do, or not yet. */
async function goOn(
  pass: Looking,
  aside: Aside,
): Promise<"settled" | "changed" | typeof waiting | typeof lost | typeof refused> {
  const { ctx, cluster, signal } = pass;
  const open = await listOpen(ctx.db, cluster.id);
  const besides = { user: cluster.user.id, isObsolete: () => isOvertaken(ctx, cluster) };
  const nodes = await aside({
    what: "queries the state of its nodes",
    lane: `${cluster.provider} looks`,
    ...besides,
    run: (limit) => observe({ ...pass, signal: limit }, open),
  });
  const steps = plans[cluster.wanted](cluster, nodes, open, ctx.steadyNow());
  const run = (limit: AbortSignal) => actAll({ ...pass, open, nodes, signal: limit }, steps);
  const names = steps.flat().map((action) => action.do);
  const outcome = names.every(isQuick)
    ? await run(signal)
    : await aside({
        what: describeSteps(steps),
        lane: names.some(makesNodes) ? makingLane(cluster) : cluster.provider,
        ...besides,
        run,
      });
  if (outcome !== undefined) return outcome;
  if (cluster.problem !== null && cluster.status === cluster.wanted)
    await ctx.batch((tx) => setProblem(tx, cluster, null));
  return steps.length > 0 ? "changed" : "settled";
}

/** Does what was planned, step by step; undefined once all of it is done. */
async function actAll(
  pass: Pass,
  steps: Step[],
): Promise<"settled" | typeof waiting | typeof lost | typeof refused | undefined> {
  for (const step of steps) {
    const results = await actStep(pass, step);
    if (results.includes(lost)) return lost;
    if (results.includes(refused)) return refused;
    if (results.includes(waiting)) return waiting;
    if (results.includes(later)) return "settled";
  }
  return undefined;
}

/** Whether something else is wanted of a cluster than what a pass saw. */
async function isOvertaken({ db }: Ground, { id, wanted, skipHooks }: Cluster): Promise<boolean> {
  const now = await getCluster(db, id);
  return now.wanted !== wanted || now.skipHooks !== skipHooks;
}

/** Of a cluster that is left only the head is asked, for as long as it has a say. */
async function observe(pass: Looking, open: readonly StoredLifecycle[]): Promise<Observed[]> {
  const { ctx, cluster, answers, signal } = pass;
  const list = () => ctx.provider(cluster.provider).list(cluster, signal);
  const seen = await nodesOf(answers, list);
  const nodes = seen.filter(({ gone }) => gone === undefined);
  const isAsked = ({ rank, state }: NodeState) =>
    state === "running" && (cluster.wanted === "UP" || (rank === 0 && !isReleased(cluster, open)));
  return Promise.all(
    seen.map(async (node) => ({
      ...node,
      ...(isAsked(node) ? await askAgent(pass, node, nodes) : unasked),
    })),
  );
}

type Answer = Pick<Observed, "agent" | "knowsHooks" | "lifecycle">;
const unasked: Answer = { agent: "off", knowsHooks: true, lifecycle: null };

async function askAgent(
  { ctx, cluster, answers, signal }: Looking,
  node: NodeState,
  nodes: NodeState[],
): Promise<Answer> {
  const options = { signal, timeoutMs: healthTimeoutMs };
  const ask = () => ctx.agent(cluster, node.rank).call(agentOperations.health, {}, options);
  const health = await healthOf(answers, node.rank, ask).catch((error: unknown) => {
    if (signal.aborted) throw error;
    return undefined;
  });
  if (health === undefined) return { ...unasked, agent: "silent" };
  if (isOutdated(ctx.provider(cluster.provider), health)) return { ...unasked, agent: "outdated" };
  return {
    agent: placeOf(cluster, node, nodes, health),
    knowsHooks: knowsHooks(health, cluster),
    lifecycle: await recognised(ctx, cluster, node.rank, health),
  };
}

/** What a node knows of its place. While others are missing it need not know where they are. */
function placeOf(
  cluster: Cluster,
  { rank }: NodeState,
  nodes: NodeState[],
  { node }: Health,
): "well" | "new" | "unset" {
  if (node?.clusterId !== cluster.id || node.rank !== rank) return "new";
  if (nodes.length !== cluster.nodes) return "well";
  return isDeepStrictEqual(node, settingsOf(cluster, rank, nodes)) ? "well" : "unset";
}

async function recognised(
  ctx: Ground,
  { id: clusterId }: Cluster,
  rank: number,
  { lifecycle }: Health,
): Promise<Observed["lifecycle"]> {
  if (lifecycle === null) return null;
  const row = await findLifecycle(ctx.db, { clusterId, rank, id: lifecycle.id });
  const known = row === undefined ? "new" : row.endedAt === null ? "open" : "over";
  return { ...lifecycle, known };
}

/** Keeps why it failed, tells of it unless it is what failed before, and no longer calls a cluster UP that could not be made whole. */
async function tellProblem(ctx: Ground, cluster: Cluster, error: unknown): Promise<void> {
  const ending = failureOf(error);
  if (ending.status !== "FAILED") return;
  const { message } = ending.failure;
  await ctx.batch((tx) => setProblem(tx, cluster, ending.failure));
  if (cluster.problem?.message !== message) await remark(ctx, cluster.id, `failed: ${message}`);
  if (cluster.status === "UP" && cluster.wanted === "UP")
    await move(ctx, clusterMachine, cluster, "INIT", message);
  ctx.changes.notify(clusterKey(cluster.id));
}
