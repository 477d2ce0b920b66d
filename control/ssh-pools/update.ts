import { isDeepStrictEqual } from "node:util";
import { fail } from "../../common/errors.ts";
import type { SshNodePoolConfig } from "../../contract/records/ssh-node-pools.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import { refuseWhileUsed } from "./deploy.ts";
import { entriesOf, type HostEntry, readPools, unmasked } from "./document.ts";
import { dropUnusedKeys } from "./keys.ts";
import { cleanLeft, leaveBehind } from "./leave.ts";
import type { Host, HostNode } from "./schema.ts";
import * as store from "./store.ts";

/** What follows once new documents are written down. */
interface Written {
  /** The ids of what is left behind. */
  readonly left: string[];
  /** Those that are nodes no more. */
  readonly drained: HostNode[];
}

/** Replaces the pools that a document names: all of them or, when one is wrong, none. */
export async function updatePools(ctx: Context, document: unknown): Promise<void> {
  const pools = readPools(document);
  const { left, drained } = await ctx.batch(async (tx) => {
    const written: Written = { left: [], drained: [] };
    for (const [name, config] of pools) {
      written.left.push(...(await updatePool(ctx, tx, name, config)));
      written.drained.push(...(await drainNow(tx, name, config)));
    }
    return written;
  });
  ctx.ssh.forget();
  await Promise.all(drained.map((node) => tellLeaving(ctx, node)));
  await cleanLeft(ctx, left);
}

/** Those hosts that a pool's new document has no more. */
function leavingIn(hosts: readonly Host[], config: SshNodePoolConfig): Host[] {
  const names = new Set(entriesOf(config).map(({ name }) => name));
  return hosts.filter(({ name }) => !names.has(name));
}

/** Writes a pool down; answers what is left behind. */
async function updatePool(
  ctx: Ground,
  tx: Connection,
  name: string,
  given: SshNodePoolConfig,
): Promise<string[]> {
  const before = (await store.findPool(tx, ctx.seal, name)) ?? {};
  const config = unmasked(given, before);
  const nodes = await store.listNodes(tx, { pool: name });
  const hosts = await store.listHosts(tx, name);
  const leaving = leavingIn(hosts, config);
  const changed = changedIn(hosts, before, config);
  const strangers = changed.filter(({ hasOtherUser }) => hasOtherUser).map(({ host }) => host);
  for (const host of [...leaving, ...strangers]) refuseWhileNode(name, host.name, nodes);
  const unused = changed.filter(({ host }) => nodeOn(nodes, host.name) === undefined);
  const moved = unused.filter(({ isElsewhere }) => isElsewhere).map(({ host }) => host);
  const left = await leaveBehind(ctx, tx, [...leaving, ...moved], before);
  await store.putPool(tx, ctx.seal, { name, config, at: ctx.now().getTime() });
  for (const host of leaving) await store.deleteHost(tx, host);
  for (const { name: host, drain = false } of entriesOf(config))
    await store.putHost(tx, { pool: name, name: host }, drain !== false);
  for (const { host, isElsewhere } of unused)
    await store.setHost(tx, host, isElsewhere ? unseen : undeployed(host));
  return left;
}

const nodeOn = (nodes: readonly HostNode[], host: string): HostNode | undefined =>
  nodes.find((node) => node.host.name === host);

function refuseWhileNode(pool: string, host: string, nodes: readonly HostNode[]): void {
  const node = nodeOn(nodes, host);
  if (node === undefined) return;
  fail(
    "ConflictError",
    `pool ${pool}: host ${host} is a node of ${node.clusterName}; set \`drain: now\` for it ` +
      "to move the cluster to another host, or take the cluster down",
  );
}

/** What is asked anew of every host that is reached in another way. */
const unasked = { problem: null, deployedAt: null, lookedAt: null };

/** What is known of a host that may be another machine now. */
const unseen = { ...unasked, machine: null, facts: null, isDirty: false };

/** What is known of one where what is ours still lies. */
const undeployed = ({ deployedAt, isDirty }: Host) => ({
  ...unasked,
  isDirty: isDirty || deployedAt !== null,
});

interface Changed {
  readonly host: Host;
  readonly hasOtherUser: boolean;
  /** What is ours there lies in another home, or may be on another machine. */
  readonly isElsewhere: boolean;
}

/** Hosts of both documents that are reached in another way. */
function changedIn(
  hosts: readonly Host[],
  before: SshNodePoolConfig,
  after: SshNodePoolConfig,
): Changed[] {
  const wayOf = ({ drain: _drain, host_key: _key, ...way }: HostEntry) => way;
  const old = new Map(entriesOf(before).map((entry) => [entry.name, wayOf(entry)]));
  const ways = new Map(entriesOf(after).map((entry) => [entry.name, wayOf(entry)]));
  return hosts.flatMap((host) => {
    const [was, is] = [old.get(host.name), ways.get(host.name)];
    if (was === undefined || is === undefined || isDeepStrictEqual(was, is)) return [];
    const hasOtherUser = was.user !== is.user && is.user !== host.facts?.user;
    const isElsewhere = hasOtherUser || was.port !== is.port || was.proxy_jump !== is.proxy_jump;
    return [{ host, hasOtherUser, isElsewhere }];
  });
}

/** Takes the hosts that are drained now from their clusters; answers the nodes that they were. */
async function drainNow(
  tx: Connection,
  pool: string,
  config: SshNodePoolConfig,
): Promise<HostNode[]> {
  const drained = entriesOf(config).filter(({ drain }) => drain === "now");
  const nodes = await store.listNodes(tx, { pool });
  const leaving = nodes.filter(({ host }) => drained.some(({ name }) => name === host.name));
  for (const node of leaving) {
    await store.deleteNode(tx, node);
    await store.setHost(tx, node.host, { isDirty: true });
  }
  return leaving;
}

/** Nobody hears the old agent any more once the connection is closed; reconcilers find another host. */
async function tellLeaving(ctx: Context, { clusterId, rank, host }: HostNode): Promise<void> {
  ctx.log.info({ clusterId, rank, ...host }, "host taken from its cluster");
  await ctx.ssh.targetOf(host).then(ctx.ssh.connections.drop, () => {});
  void nudge(ctx, "cluster", clusterId);
  void nudge(ctx, "ssh_host", `${host.pool}/${host.name}`);
}

/** Forgets a pool that no cluster is on; throws `NotFoundError` when there is none. */
export async function forgetPool(ctx: Context, name: string): Promise<void> {
  const { left, entries } = await ctx.batch(async (tx) => {
    await refuseWhileUsed(tx, name);
    const config = await store.findPool(tx, ctx.seal, name);
    if (config === undefined) fail("NotFoundError", `there is no pool ${name}`);
    const ids = await leaveBehind(ctx, tx, await store.listHosts(tx, name), config);
    await store.deletePool(tx, name);
    return { left: ids, entries: entriesOf(config) };
  });
  ctx.ssh.forget();
  await cleanLeft(ctx, left);
  await dropUnusedKeys(ctx, entries);
}
