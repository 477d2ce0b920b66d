import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Idle, NodeSettings } from "../../contract/agent-shapes.ts";
import { type Orphan, orphanOperations as rows } from "../../contract/operations/orphans.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { agentBehind } from "../doors/agent.ts";
import { addEvent } from "../events.ts";
import type { FoundNode, Offer, Provider } from "../providers/provider.ts";
import { nudge } from "../reconciler.ts";
import { type AutostopSetting, type Cluster, clusterKey } from "./schema.ts";
import { addCluster, findCluster } from "./store.ts";

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
  /** What its head says; undefined where that does not answer. */
  readonly head: { readonly node: NodeSettings; readonly idle: Idle } | undefined;
}

const answerMs = 2_000;
const minuteMs = 60_000;

/** Says in the log which clusters the database does not have, if any. */
export async function reportOrphans(ctx: Context, signal: AbortSignal): Promise<void> {
  const orphans = (await listOrphans(ctx, signal)).map(({ shown }) => shown.name ?? shown.id);
  if (orphans.length > 0)
    ctx.log.warn(
      { orphans },
      `clusters that the database does not have are running; see \`${product.word} api orphans\``,
    );
}

async function listOrphans(ctx: Context, signal: AbortSignal): Promise<Found[]> {
  const found: Found[] = [];
  for (const provider of ctx.providers)
    for (const [id, nodes] of byCluster((await provider.find?.(signal)) ?? []))
      if ((await findCluster(ctx.db, id)) === undefined)
        found.push(await look(provider, id, nodes, signal));
  return found;
}

/** The nodes of each cluster, by its id. */
function byCluster(nodes: readonly FoundNode[]): Map<string, FoundNode[]> {
  return Map.groupBy(nodes, ({ id }) => id.slice(0, id.lastIndexOf("-")));
}

/** Asks the head of an orphan what it is. */
async function look(
  provider: Provider,
  id: string,
  nodes: readonly FoundNode[],
  signal: AbortSignal,
): Promise<Found> {
  const door = provider.door(`${id}-0`);
  const agent = agentBehind(door, `the agent of node 0 of ${id}`);
  const limits = { signal, timeoutMs: answerMs };
  const shown = { id, name: null, provider: provider.name, nodes: nodes.length, jobs: null };
  try {
    const { node } = await agent.call(agentOperations.health, {}, limits);
    if (node === null) return { shown, provider, nodes, head: undefined };
    const idle = await agent.call(agentOperations.getIdle, {}, limits);
    const { length: jobs } = await agent.call(agentOperations.listJobs, { active: "true" }, limits);
    const named = { ...shown, name: node.clusterName, jobs };
    return { shown: named, provider, nodes, head: { node, idle } };
  } catch {
    signal.throwIfAborted();
    return { shown, provider, nodes, head: undefined };
  } finally {
    void door.destroy();
  }
}

/** The one orphan of a name or id. */
async function getOrphan(ctx: Context, name: string, signal: AbortSignal): Promise<Found> {
  const all = await listOrphans(ctx, signal);
  const [found, another] = all.filter(({ shown }) => shown.id === name || shown.name === name);
  if (found === undefined)
    fail("NotFoundError", `there is no orphan ${name}; ${product.word} api orphans lists them`);
  if (another !== undefined)
    fail("ConflictError", `several orphans are named ${name}; give the id of one`);
  return found;
}

async function adopt(ctx: Context, input: InputOf<typeof rows.adopt>, call: Call): Promise<Orphan> {
  const found = await getOrphan(ctx, input.cluster, call.signal);
  const cluster = await clusterOf(ctx, found, call);
  const { id, name } = cluster;
  const reason = `adopted by ${call.user.name}: its nodes were there, and the database did not have it`;
  const isAdded = await ctx.batch(async (tx) => {
    const isNew = await addCluster(tx, cluster);
    if (isNew)
      await addEvent(tx, { noun: "cluster", id, reason, isNoteworthy: true, at: ctx.now() });
    return isNew;
  });
  if (!isAdded)
    fail(
      "ConflictError",
      `there is another cluster named ${name}; take it down first, or end ${id}`,
    );
  ctx.changes.notify(clusterKey(id));
  void nudge(ctx, "cluster", id);
  return found.shown;
}

/** What is known of an orphan as the row that it had; its task and its hooks are not known. */
async function clusterOf(ctx: Context, found: Found, call: Call): Promise<Cluster> {
  const { shown, provider, nodes, head } = found;
  if (head === undefined)
    fail("UnreachableError", `no agent of ${shown.id} says what it is; it can only be ended`);
  const { node, idle } = head;
  const now = ctx.now().getTime();
  return {
    id: shown.id,
    name: node.clusterName,
    status: "INIT",
    wanted: "UP",
    wantedBecause: `adopted by ${call.user.name}`,
    skipHooks: false,
    user: call.user,
    workspace: "default",
    madeFor: null,
    provider: provider.name,
    nodes: node.addresses.length,
    offer: await offerOf(provider, node, nodes[0]?.network, call.signal),
    addresses: [],
    ports: [],
    labels: {},
    taskYaml: JSON.stringify({ num_nodes: node.addresses.length }),
    command: call.command,
    autostop: autostopOf(idle),
    hooksVersion: null,
    problem: null,
    everUp: false,
    launchedAt: now,
    statusChangedAt: now,
  };
}

async function offerOf(
  provider: Provider,
  { cpus, accelerators, region, zone }: NodeSettings,
  network: "own" | undefined,
  signal: AbortSignal,
): Promise<Offer> {
  const [usual] = await provider.offers({}, signal);
  if (usual === undefined) fail("ConflictError", `${provider.name} has no machine of this kind`);
  return { ...usual, cpus, accelerators, region, zone, ...(network && { network }) };
}

const autostopOf = ({ idleMs, down, waitFor }: Idle): AutostopSetting | null =>
  idleMs === null ? null : { idleMinutes: idleMs / minuteMs, down, waitFor, hook: null };

async function end(ctx: Context, input: InputOf<typeof rows.end>, call: Call): Promise<Orphan> {
  const { shown, provider, nodes } = await getOrphan(ctx, input.cluster, call.signal);
  for (const { id } of nodes) await provider.destroy(id, call.signal);
  ctx.log.info({ cluster: shown.id, by: call.user.name }, "orphan ended");
  return shown;
}
