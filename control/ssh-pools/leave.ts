import { product } from "../../common/product.ts";
import type { SshNodePoolConfig } from "../../contract/records/ssh-node-pools.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Connection, Queries } from "../db/open.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";
import { machineOf } from "../doors/ssh/target.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import { entriesOf } from "./document.ts";
import * as leftovers from "./leftover-store.ts";
import type { Host, HostRef, Leftover } from "./schema.ts";
import { findHostKey, listHosts, setHost } from "./store.ts";

/**
 * Writes down what stays of ours on hosts as their pool's document, as it was, logs in on them; answers
 * its ids.
 */
export async function leaveBehind(
  { seal, now }: Ground,
  tx: Connection,
  hosts: readonly Host[],
  before: SshNodePoolConfig,
): Promise<string[]> {
  const at = now().getTime();
  const entries = new Map(entriesOf(before).map((entry) => [entry.name, entry]));
  const ids: string[] = [];
  for (const { pool, name, machine, facts, deployedAt, isDirty } of hosts) {
    const entry = entries.get(name);
    const hasOurs = deployedAt !== null || isDirty;
    if (facts === null || machine === null || entry === undefined || !hasOurs) continue;
    const id = `${facts.user}@${machine}`;
    const more = { machine, entry, facts, problem: null, leftAt: at, triedAt: at };
    await leftovers.putLeftover(tx, seal, { id, pool, name, ...more });
    // What a cluster left running there is for the pool to clean that keeps it.
    const twin = isDirty && (await findTwin(tx, { pool, name }, machine, facts.user));
    if (twin) await setHost(tx, twin, { isDirty });
    ids.push(id);
  }
  return ids;
}

/** Tries now to remove what was left; what cannot be reached is tried again by itself. */
export async function cleanLeft(ctx: Context, ids: readonly string[], signal?: AbortSignal) {
  await Promise.all(ids.map((id) => nudge(ctx, "ssh_leftover", id, signal)));
}

/**
 * Tries now to remove what hosts of pools left behind, and tells of each; answers what is still there.
 * With `force` nothing is: it is given up.
 */
export async function cleanLeftOf(
  ctx: Context,
  pools: readonly string[],
  call: Call,
  { force }: { readonly force: boolean },
): Promise<Leftover[]> {
  const list = async () =>
    (await leftovers.listLeftovers(ctx.db, ctx.seal)).filter(({ pool }) => pools.includes(pool));
  const before = await list();
  await cleanLeft(
    ctx,
    before.map(({ id }) => id),
    call.signal,
  );
  const still = await list();
  for (const { id, pool, name } of before)
    if (!still.some((one) => one.id === id))
      call.print(`${pool}/${name}: Outrigger was removed from ${id}\n`);
  for (const one of still) {
    if (force) await ctx.batch((tx) => leftovers.deleteLeftover(tx, one.id));
    const told = force ? `given up; ~/.${product.word} stays at ${one.id}` : howLeft(one);
    call.print(`${one.pool}/${one.name}: ${told}\n`);
  }
  return force ? [] : still;
}

/** Why something of ours is still on a host, and what to do about it. */
export function howLeft({ id, pool, problem }: Leftover): string {
  const why = problem?.replace(/^host \S+: /, "") ?? "it is being removed";
  return (
    `Outrigger could not be removed from ${id} yet: ${why}; control retries it. To give ` +
    `it up: ${product.word} ssh down ${pool} --force`
  );
}

/** Makes what was left in a home its host's again, which is deployed there; whether there was any. */
export async function takeBack(
  ctx: Context,
  host: HostRef,
  { target, facts }: ReachedHost,
): Promise<boolean> {
  const keyOf = async (machine: string, pinned?: string | null) =>
    pinned ?? (await findHostKey(ctx.db, machine))?.fingerprint;
  const machine = machineOf(target);
  const key = await keyOf(machine, target.hostKey);
  const ids: string[] = [];
  for (const left of await leftovers.listLeftovers(ctx.db, ctx.seal)) {
    if (left.facts.user !== facts.user) continue;
    // The same machine may be found on another port, or in another way.
    const leftKey = await keyOf(left.machine, left.entry.host_key);
    if (left.machine === machine || (key !== undefined && key === leftKey)) ids.push(left.id);
  }
  if (ids.length === 0) return false;
  await ctx.batch(async (tx) => {
    await setHost(tx, host, { isDirty: true });
    for (const id of ids) await leftovers.deleteLeftover(tx, id);
  });
  // Whoever removes it just now is waited for.
  await cleanLeft(ctx, ids);
  return true;
}

/** Another deployed host that is the same user of the same machine, and has its files in common. */
export async function findTwin(
  db: Queries,
  { pool, name }: HostRef,
  machine: string,
  user: string,
): Promise<Host | undefined> {
  return (await listHosts(db))
    .filter((other) => other.pool !== pool || other.name !== name)
    .filter(({ deployedAt }) => deployedAt !== null)
    .find((other) => other.machine === machine && other.facts?.user === user);
}
