import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Idle } from "../../contract/agent-shapes.ts";
import { type Orphan, orphanOperations as rows } from "../../contract/operations/orphans.ts";
import { listedBy } from "../../contract/spelling.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { agentBehind } from "../doors/agent.ts";
import { partsOfNodeId } from "../doors/node-id.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import type { FoundNode, Provider } from "../providers/provider.ts";
import { nudge } from "../reconciler.ts";
import { type AutostopSetting, type Cluster, clusterKey, isClusterName } from "./schema.ts";
import { addCluster, findCluster, findLive } from "./store.ts";

/** Clusters whose nodes are there, and which the database does not have: it was lost, or is an older copy. */
export const orphanOperations: Bound[] = [
  bind(rows.list, async (ctx, _input, { signal }) =>
    (await listOrphans(ctx, signal)).map(({ shown }) => shown),
  ),
  bind(rows.adopt, adopt),
  bind(rows.end, end),
];

interface Found {
  readonly shown: Orphan;
  readonly provider: Provider;
  readonly nodes: readonly FoundNode[];
  /** The idle timer of its head; undefined where that does not answer. */
  readonly idle: Idle | undefined;
}

const answerMs = 2_000;
const minuteMs = 60_000;

/** Says in the log which clusters the database does not have, if any. */
export async function reportOrphans(ctx: Context, signal: AbortSignal): Promise<void> {
  const orphans = (await listOrphans(ctx, signal)).map(({ shown }) => shown.name ?? shown.id);
  if (orphans.length > 0)
    ctx.log.warn(
      { orphans },
      `clusters that are not in the database are running; see \`${product.word} api orphans\``,
    );
}

async function listOrphans(ctx: Context, signal: AbortSignal): Promise<Found[]> {
  const found = await Promise.all(ctx.providers.map((one) => listOrphansOf(ctx, one, signal)));
  return found.flat();
}

/** All heads are asked side by side: one that does not answer holds up no other. */
async function listOrphansOf(
  ctx: Ground,
  provider: Provider,
  signal: AbortSignal,
): Promise<Found[]> {
  const clusters = [...byCluster((await provider.find?.(signal)) ?? [])];
  const looks = clusters.map(async ([id, nodes]) =>
    (await findCluster(ctx.db, id)) === undefined ? [await look(provider, id, nodes, signal)] : [],
  );
  return (await Promise.all(looks)).flat();
}

/** The nodes of each cluster, by its id. */
function byCluster(nodes: readonly FoundNode[]): Map<string, FoundNode[]> {
  return Map.groupBy(nodes, ({ id }) => partsOfNodeId(id).clusterId);
}

/** Asks the head of an orphan, where it is on, what it does. */
async function look(
  provider: Provider,
  id: string,
  nodes: readonly FoundNode[],
  signal: AbortSignal,
): Promise<Found> {
  const name = nodes[0]?.cluster?.name ?? null;
  const shown = { id, name, provider: provider.name, nodes: nodes.length, jobs: null };
  if (!nodes.some(isOn)) return { shown, provider, nodes, idle: undefined };
  const door = provider.door(`${id}-0`);
  const agent = agentBehind(door, `the agent of node 0 of ${name ?? id}`);
  const limits = { signal, timeoutMs: answerMs };
  try {
    const idle = await agent.call(agentOperations.getIdle, {}, limits);
    const { length: jobs } = await agent.call(agentOperations.listJobs, { active: "true" }, limits);
    return { shown: { ...shown, jobs }, provider, nodes, idle };
  } catch {
    signal.throwIfAborted();
    return { shown, provider, nodes, idle: undefined };
  } finally {
    void door.destroy();
  }
}

const isOn = ({ state }: FoundNode): boolean => state !== "stopped";

/** The one orphan of a name or id. */
async function getOrphan(ctx: Context, name: string, signal: AbortSignal): Promise<Found> {
  const all = await listOrphans(ctx, signal);
  const [found, another] = all.filter(({ shown }) => shown.id === name || shown.name === name);
  if (found === undefined)
    fail("NotFoundError", `there is no orphan ${name}; ${listedBy("api orphans")}`);
  if (another !== undefined)
    fail("ConflictError", `several orphans are named ${name}; give the id of one`);
  return found;
}

async function adopt(ctx: Context, input: InputOf<typeof rows.adopt>, call: Call): Promise<Orphan> {
  const found = await getOrphan(ctx, input.cluster, call.signal);
  const cluster = clusterOf(ctx, found, call);
  const { id, name } = cluster;
  if ((await findLive(ctx.db, name)) !== undefined) failNameTaken(cluster);
  // Before there is a row that asks for nodes: it would be given others.
  await found.provider.adopt?.(found.nodes);
  const reason = `adopted by ${call.user.name}: its nodes existed, but it was not in the database`;
  const isAdded = await ctx.batch(async (tx) => {
    const isNew = await addCluster(tx, cluster);
    if (isNew)
      await addEvent(tx, { noun: "cluster", id, reason, isNoteworthy: true, at: ctx.now() });
    return isNew;
  });
  if (!isAdded) failNameTaken(cluster);
  ctx.changes.notify(clusterKey(id));
  void nudge(ctx, "cluster", id);
  return found.shown;
}

const failNameTaken = ({ id, name }: Cluster): never =>
  fail("ConflictError", `there is another cluster named ${name}; take it down first, or end ${id}`);

/** What is known of an orphan as the row that it had; its task, owner and hooks are not known. */
function clusterOf(ctx: Ground, { shown, provider, nodes, idle }: Found, call: Call): Cluster {
  const known = nodes[0]?.cluster ?? null;
  if (known === null || !isClusterName(known.name))
    fail(
      "ConflictError",
      `the nodes of ${shown.id} do not report their cluster; they can only be ended`,
    );
  const now = ctx.now().getTime();
  const status = nodes.some(isOn) ? "INIT" : "STOPPED";
  return {
    id: shown.id,
    name: known.name,
    status,
    wanted: status === "INIT" ? "UP" : "STOPPED",
    wantedBecause: `adopted by ${call.user.name}`,
    skipHooks: false,
    user: call.user,
    workspace: call.workspace,
    madeFor: null,
    provider: provider.name,
    nodes: known.nodes,
    offer: known.offer,
    addresses: [],
    ports: [],
    labels: {},
    machine: known.machine ?? {},
    taskYaml: JSON.stringify({ num_nodes: known.nodes }),
    command: call.command,
    autostop: idle === undefined ? null : autostopOf(idle),
    hooksVersion: null,
    problem: null,
    placement: null,
    everUp: status === "STOPPED",
    launchedAt: now,
    statusChangedAt: now,
  };
}

const autostopOf = ({ idleMs, down, waitFor }: Idle): AutostopSetting | null =>
  idleMs === null ? null : { idleMinutes: idleMs / minuteMs, down, waitFor, hook: null };

async function end(ctx: Context, input: InputOf<typeof rows.end>, call: Call): Promise<Orphan> {
  const { shown, provider, nodes } = await getOrphan(ctx, input.cluster, call.signal);
  for (const { id } of nodes) await provider.destroy(id, call.signal);
  ctx.log.info({ cluster: shown.id, by: call.user.name }, "orphan ended");
  return shown;
}
