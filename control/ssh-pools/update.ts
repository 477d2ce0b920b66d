import { isDeepStrictEqual } from "node:util";
import { fail } from "../../common/errors.ts";
import type { SshNodePoolConfig } from "../../contract/records/ssh-node-pools.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import { nudge } from "../reconciler.ts";
import { refuseWhileUsed } from "./deploy.ts";
import { entriesOf, type HostEntry, readPools, unmasked } from "./document.ts";
import { cleanLeft, waysTo } from "./leave.ts";
import type { Host, HostNode } from "./schema.ts";
import * as store from "./store.ts";

/** Replaces the pools that a document names: all of them or, when one is wrong, none. */
export async function updatePools(ctx: Context, document: unknown): Promise<void> {
  const pools = readPools(document);
  const left = await Promise.all(
    [...pools].map(async ([name, config]) =>
      leavingIn(await store.listHosts(ctx.db, name), config),
    ),
  );
  const ways = await waysTo(ctx, left.flat());
  await ctx.batch(async (tx) => {
    for (const [name, config] of pools) await updatePool(ctx, tx, name, config);
  });
  ctx.ssh.forget();
  await Promise.all([...pools].map(([name, config]) => leaveHosts(ctx, name, config)));
  await cleanLeft(ctx, ways);
}

/** Those hosts that a pool's new document has no more. */
function leavingIn(hosts: readonly Host[], config: SshNodePoolConfig): Host[] {
  const names = new Set(entriesOf(config).map(({ name }) => name));
  return hosts.filter(({ name }) => !names.has(name));
}

async function updatePool(ctx: Context, tx: Connection, name: string, given: SshNodePoolConfig) {
  const before = (await store.findPool(tx, ctx.seal, name)) ?? {};
  const config = unmasked(given, before);
  const entries = entriesOf(config);
  const nodes = await store.listNodes(tx, { pool: name });
  const leaving = leavingIn(await store.listHosts(tx, name), config);
  for (const host of leaving) refuseWhileNode(name, host.name, nodes);
  await store.putPool(tx, ctx.seal, { name, config, at: ctx.now().getTime() });
  for (const host of leaving) await store.deleteHost(tx, host);
  for (const { name: host, drain = false } of entries)
    await store.putHost(tx, { pool: name, name: host }, drain !== false);
  const changed = changedIn(before, config).filter((host) => nodeOn(nodes, host) === undefined);
  for (const host of changed) await store.setHost(tx, { pool: name, name: host }, unseen);
}

const nodeOn = (nodes: readonly HostNode[], host: string): HostNode | undefined =>
  nodes.find((node) => node.host.name === host);

function refuseWhileNode(pool: string, host: string, nodes: readonly HostNode[]): void {
  const node = nodeOn(nodes, host);
  if (node === undefined) return;
  fail(
    "ConflictError",
    `pool ${pool}: host ${host} is a node of ${node.clusterName}; write \`drain: now\` beside it ` +
      "to have the cluster take another host, or take the cluster down",
  );
}

/** What is known of a host that may be another machine now. */
const unseen = { machine: null, facts: null, problem: null, deployedAt: null, lookedAt: null };

/** Hosts of both documents that are reached in another way. */
function changedIn(before: SshNodePoolConfig, after: SshNodePoolConfig): string[] {
  const wayOf = ({ drain: _drain, host_key: _key, ...way }: HostEntry) => way;
  const ways = new Map(entriesOf(before).map((entry) => [entry.name, wayOf(entry)]));
  return entriesOf(after)
    .filter(({ name }) => ways.has(name))
    .filter((entry) => !isDeepStrictEqual(ways.get(entry.name), wayOf(entry)))
    .map(({ name }) => name);
}

/** Has clusters leave the hosts that are drained now: their reconciler finds others. */
async function leaveHosts(ctx: Context, pool: string, config: SshNodePoolConfig): Promise<void> {
  const drained = entriesOf(config).filter(({ drain }) => drain === "now");
  const nodes = await store.listNodes(ctx.db, { pool });
  const leaving = nodes.filter(({ host }) => drained.some(({ name }) => name === host.name));
  await Promise.all(leaving.map((node) => leaveHost(ctx, node)));
}

/** Nobody hears the old agent any more once the connection is closed. */
async function leaveHost(ctx: Context, node: HostNode): Promise<void> {
  const { clusterId, rank, host } = node;
  await ctx.batch(async (tx) => {
    await store.deleteNode(tx, node);
    await store.setHost(tx, host, { isDirty: true });
  });
  ctx.log.info({ clusterId, rank, ...host }, "host taken from its cluster");
  await ctx.ssh.targetOf(host).then(ctx.ssh.connections.drop, () => {});
  void nudge(ctx, "cluster", clusterId);
  void nudge(ctx, "ssh_host", `${host.pool}/${host.name}`);
}

/** Forgets a pool that no cluster is on; throws `NotFoundError` when there is none. */
export async function forgetPool(ctx: Context, name: string): Promise<void> {
  await refuseWhileUsed(ctx, name);
  const ways = await waysTo(ctx, await store.listHosts(ctx.db, name));
  if (!(await store.deletePool(ctx.db, name))) fail("NotFoundError", `there is no pool ${name}`);
  ctx.ssh.forget();
  await cleanLeft(ctx, ways);
}
