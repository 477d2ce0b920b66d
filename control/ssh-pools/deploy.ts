import { fail, toAppError } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import type { Call } from "../bind.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/open.ts";
import { cleanHost } from "../doors/ssh/agent-service.ts";
import { installAgent } from "../doors/ssh/install.ts";
import { askToLinger } from "../doors/ssh/linger.ts";
import { findOccupant } from "../doors/ssh/occupant.ts";
import { describeHost } from "../doors/ssh/probe.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";
import { machineOf } from "../doors/ssh/target.ts";
import type { Ground } from "../ground.ts";
import { keepingProblem, lookAt } from "./inspect-host.ts";
import { cleanLeftOf, findTwin, howLeft, takeBack } from "./leave.ts";
import { removeLeftNode } from "./left-node.ts";
import type { Host, Leftover } from "./schema.ts";
import { findNodeOn, listHosts, listNodes, setHost } from "./store.ts";

/**
 * Makes all hosts of pools ready for clusters; throws `RuntimeError` that names those that are not. What
 * hosts left behind that are no more is removed where they are on.
 */
export async function deployPools(ctx: Context, pools: readonly string[], call: Call) {
  const left = async () => void (await cleanLeftOf(ctx, pools, call, { force: false }));
  await overHosts(ctx, pools, call, { verb: "deploy", done: "ready", left }, (host) =>
    deployHost(ctx, host, call.signal),
  );
}

/**
 * Removes all that is ours from the hosts of pools, and what those left that are no more, which `force`
 * gives up where it cannot be done; throws as `deployPools`.
 */
export async function cleanPools(
  ctx: Context,
  pools: readonly string[],
  call: Call,
  force = false,
): Promise<void> {
  for (const pool of pools) await refuseWhileUsed(ctx.db, pool);
  const left = () => cleanLeftOf(ctx, pools, call, { force });
  await overHosts(ctx, pools, call, { verb: "clean up", done: "clean", left }, (host) =>
    cleanUp(ctx, host, call.signal),
  );
}

/** Throws `ConflictError` while clusters are on the pool. */
export async function refuseWhileUsed(db: Queries, pool: string): Promise<void> {
  const nodes = await listNodes(db, { pool });
  const names = [...new Set(nodes.map(({ clusterName }) => clusterName))];
  if (names.length > 0)
    fail("ConflictError", `pool ${pool} is used by ${names.join(", ")}; take that down first`);
}

interface Doing {
  readonly verb: string;
  readonly done: string;
  /** Sees to what hosts left that are no more; answers where that failed. */
  left(): Promise<readonly Leftover[] | undefined>;
}

/** All hosts side by side; a bad one holds up no other. */
async function overHosts(
  ctx: Ground,
  pools: readonly string[],
  call: Call,
  { verb, done, left }: Doing,
  work: (host: Host) => Promise<string>,
): Promise<void> {
  const hosts = (await Promise.all(pools.map((pool) => listHosts(ctx.db, pool)))).flat();
  const failed = new Map<string, string>();
  const one = async (host: Host) => {
    const begun = performance.now();
    try {
      const told = await work(host);
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
      call.print(`${host.pool}/${host.name}: ${done} in ${seconds} s${told && ` (${told})`}\n`);
    } catch (error) {
      call.signal.throwIfAborted();
      const why = toAppError(error).message;
      failed.set(`${host.pool}/${host.name}`, why);
      call.print(`${host.pool}/${host.name}: ${why}\n`);
    }
  };
  const [still = []] = await call.aside(Promise.all([left(), ...hosts.map(one)]));
  for (const one of still) failed.set(`${one.pool}/${one.name}`, howLeft(one));
  if (failed.size > 0)
    fail(
      "RuntimeError",
      `cannot ${verb} ${failed.size} of ${hosts.length + still.length} hosts: ${namedWith(failed)}`,
    );
}

/** One host with its reason; of several the lines that were printed have them. */
function namedWith(reasons: ReadonlyMap<string, string>): string {
  const [[name, why] = ["", ""], ...others] = reasons;
  if (others.length === 0) return `${name}: ${why.replace(/^host \S+: /, "")}`;
  return `${[...reasons.keys()].sort().join(", ")}; see the line of each`;
}

/** Before the first of our files is there it is written down that the host is to be cleaned of them. */
async function deployHost(ctx: Context, host: Host, signal: AbortSignal): Promise<string> {
  const reached = await lookAt(ctx, host, signal);
  const node = await findNodeOn(ctx.db, machineOf(reached.target));
  if (node === undefined && !host.isDirty)
    await keepingProblem(ctx, host, signal, () => refuseOccupied(ctx, reached, signal));
  if (host.deployedAt === null) await ctx.batch((tx) => setHost(tx, host, { isDirty: true }));
  const wasLeft = await takeBack(ctx, host, reached);
  const { facts } = await keepingProblem(ctx, host, signal, async () => {
    if ((host.isDirty || wasLeft) && node === undefined) await removeLeftNode(ctx, reached, signal);
    await installAgent(reached.ssh, reached, ctx.ssh.bundles, signal);
    return (await askToLinger(reached, signal)) ? lookAt(ctx, host, signal) : reached;
  });
  const deployedAt = ctx.now().getTime();
  const wasClean = host.deployedAt !== null && !host.isDirty && !wasLeft;
  const isDirty = (host.isDirty || wasLeft) && node !== undefined;
  // One that was clean may have been left by its cluster meanwhile.
  await ctx.batch((tx) => setHost(tx, host, wasClean ? { deployedAt } : { deployedAt, isDirty }));
  return describeHost(facts);
}

/** A host on which no deployment was begun has nothing of ours. */
async function cleanUp(ctx: Context, host: Host, signal: AbortSignal): Promise<string> {
  if (host.deployedAt === null && !host.isDirty) return "Outrigger is not installed there";
  const reached = await lookAt(ctx, host, signal);
  // A cluster may have come to it while it was looked at.
  await ctx.batch(async (tx) => {
    await refuseWhileUsed(tx, host.pool);
    await setHost(tx, host, { isDirty: true, deployedAt: null });
  });
  const machine = machineOf(reached.target);
  const twin = await findTwin(ctx.db, host, machine, reached.facts.user);
  if (twin === undefined) await keepingProblem(ctx, host, signal, () => cleanHost(reached, signal));
  else if (host.isDirty) await ctx.batch((tx) => setHost(tx, twin, { isDirty: true }));
  await ctx.batch((tx) => setHost(tx, host, { isDirty: false }));
  ctx.ssh.connections.retire(reached.target);
  return twin === undefined ? "" : `its files stay for ${twin.pool}/${twin.name}`;
}

/**
 * Throws `ConflictError` where a host is a node of a cluster that the database does not have, or that
 * another control plane has.
 */
async function refuseOccupied(ctx: Context, host: ReachedHost, signal: AbortSignal): Promise<void> {
  const occupant = await findOccupant(host, signal);
  if (occupant === undefined) return;
  const { control, clusterId, cluster } = occupant;
  const which = `cluster ${cluster.name} (${clusterId})`;
  if (control !== ctx.ssh.controlId)
    fail(
      "ConflictError",
      `it is a node of ${which} of another control plane; take that down first`,
    );
  if ((await findCluster(ctx.db, clusterId)) === undefined)
    fail(
      "ConflictError",
      `it is a node of ${which}, which is not in the database; see \`${product.word} api orphans\``,
    );
}
