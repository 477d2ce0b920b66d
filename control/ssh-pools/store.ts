import type { Seal } from "../../common/seal.ts";
import type { SshNodePoolConfig } from "../../contract/records/ssh-node-pools.ts";
import type { Connection, Queries } from "../db/open.ts";
import { flag, json, rowsOf } from "../db/rows.ts";
import type { HostKey } from "../doors/ssh/host-keys.ts";
import type { Host, HostNode, HostRef } from "./schema.ts";

const hosts = rowsOf<Host>()(
  "ssh_hosts",
  ["pool", "name", "machine", "problem", "lookedAt", "deployedAt"],
  { facts: json, isDraining: flag, isDirty: flag },
);
const nodes = rowsOf<HostNode>()("ssh_nodes", ["clusterId", "clusterName", "rank", "state"], {
  host: () => ({
    columns: ["pool", "host"],
    read: ({ pool, host }) => ({ pool, name: host }),
    write: ({ pool, name }: HostRef) => ({ pool, host: name }),
  }),
});

/** Every pool's document, by name. */
export async function listPools(db: Queries, seal: Seal): Promise<Map<string, SshNodePoolConfig>> {
  const rows = await db.selectFrom("ssh_pools").selectAll().orderBy("name").execute();
  return new Map(rows.map(({ name, config }) => [name, JSON.parse(seal.open(config))]));
}

export async function listPoolNames(db: Queries): Promise<string[]> {
  const rows = await db.selectFrom("ssh_pools").select("name").orderBy("name").execute();
  return rows.map(({ name }) => name);
}

export async function findPool(
  db: Queries,
  seal: Seal,
  name: string,
): Promise<SshNodePoolConfig | undefined> {
  const row = await db
    .selectFrom("ssh_pools")
    .select("config")
    .where("name", "=", name)
    .executeTakeFirst();
  return row && JSON.parse(seal.open(row.config));
}

/** Writes a pool's document. */
export async function putPool(
  db: Connection,
  seal: Seal,
  { name, config, at }: { name: string; config: SshNodePoolConfig; at: number },
) {
  const row = { config: seal.seal(JSON.stringify(config)), updated_at: at };
  await db
    .insertInto("ssh_pools")
    .values({ name, ...row })
    .onConflict((conflict) => conflict.column("name").doUpdateSet(row))
    .execute();
}

/** Forgets a pool and its hosts; false when there was none. */
export async function deletePool(db: Connection, name: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("ssh_pools")
    .where("name", "=", name)
    .executeTakeFirst();
  return numDeletedRows === 1n;
}

/** The hosts of a pool, or of all, in the order in which they were added. */
export async function listHosts(db: Queries, pool?: string): Promise<Host[]> {
  const query = db.selectFrom("ssh_hosts").selectAll().orderBy("pool").orderBy("name");
  const rows = await (pool === undefined ? query : query.where("pool", "=", pool)).execute();
  return rows.map(hosts.toItem);
}

export const findHost = (db: Queries, { pool, name }: HostRef): Promise<Host | undefined> =>
  hosts.find(db, { pool, name });

/** Writes that a pool has a host, and whether that takes new clusters. */
export async function putHost(db: Connection, { pool, name }: HostRef, isDraining: boolean) {
  const row = { is_draining: isDraining ? 1 : 0 };
  await db
    .insertInto("ssh_hosts")
    .values({ pool, name, ...row })
    .onConflict((conflict) => conflict.columns(["pool", "name"]).doUpdateSet(row))
    .execute();
}

export const deleteHost = (db: Connection, { pool, name }: HostRef): Promise<void> =>
  hosts.drop(db, { pool, name });

export const setHost = (
  db: Connection,
  { pool, name }: HostRef,
  change: Partial<Host>,
): Promise<void> => hosts.change(db, { pool, name }, change);

/** Nodes by cluster and rank: of one cluster, of one pool, or all. */
export async function listNodes(
  db: Queries,
  { clusterId, pool }: { clusterId?: string; pool?: string } = {},
): Promise<HostNode[]> {
  let query = db.selectFrom("ssh_nodes").selectAll().orderBy("cluster_id").orderBy("rank");
  if (clusterId !== undefined) query = query.where("cluster_id", "=", clusterId);
  if (pool !== undefined) query = query.where("pool", "=", pool);
  return (await query.execute()).map(nodes.toItem);
}

/**
 * The machines that are nodes, and those that are yet to be cleaned of one: other pools that have them
 * too must not give them away either.
 */
export async function listTaken(db: Queries): Promise<Set<string>> {
  const taken = await db.selectFrom("ssh_nodes").select("machine").execute();
  const dirty = await db
    .selectFrom("ssh_hosts")
    .select("machine")
    .where("is_dirty", "=", 1)
    .where("deployed_at", "is not", null)
    .execute();
  return new Set([...taken, ...dirty].flatMap(({ machine }) => machine ?? []));
}

/** The node that a machine is, whichever pool it is of. */
export async function findNodeOn(db: Queries, machine: string): Promise<HostNode | undefined> {
  const row = await db
    .selectFrom("ssh_nodes")
    .selectAll()
    .where("machine", "=", machine)
    .executeTakeFirst();
  return row && nodes.toItem(row);
}

export async function addNode(db: Connection, node: HostNode, machine: string): Promise<void> {
  await db
    .insertInto("ssh_nodes")
    .values({ ...nodes.toRow(node), machine })
    .execute();
}

type NodeKey = Pick<HostNode, "clusterId" | "rank">;

export const setNodeState = (
  db: Connection,
  { clusterId, rank }: NodeKey,
  state: HostNode["state"],
): Promise<void> => nodes.change(db, { clusterId, rank }, { state });

export const deleteNode = (db: Connection, { clusterId, rank }: NodeKey): Promise<void> =>
  nodes.drop(db, { clusterId, rank });

/** The key that a machine is known by. */
export async function findHostKey(db: Queries, machine: string): Promise<HostKey | undefined> {
  return db
    .selectFrom("ssh_host_keys")
    .select(["kind", "fingerprint"])
    .where("machine", "=", machine)
    .executeTakeFirst();
}

/** Keeps the first key that a machine showed. */
export async function addHostKey(db: Connection, machine: string, key: HostKey, at: number) {
  await db
    .insertInto("ssh_host_keys")
    .values({ machine, ...key, seen_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
