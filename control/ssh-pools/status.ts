import type { OutputOf } from "../../common/operation.ts";
import type { sshNodePoolOperations } from "../../contract/operations/ssh-node-pools.ts";
import type { Context } from "../context.ts";
import { describeHost } from "../doors/ssh/probe.ts";
import { lookAt } from "./inspect-host.ts";
import { howLeft } from "./leave.ts";
import { listLeftovers } from "./leftover-store.ts";
import { contextOf, type Host, type HostNode, isReady } from "./schema.ts";
import { listHosts, listNodes } from "./store.ts";

type Status = OutputOf<typeof sshNodePoolOperations.status>;

/** What was seen not longer ago is still so. */
const freshMs = 30_000;

/** Whether a pool can be used, and how each of its hosts is; looks at those not seen of late. */
export async function poolStatus(ctx: Context, pool: string, signal: AbortSignal): Promise<Status> {
  const before = ctx.now().getTime() - freshMs;
  const stale = (await listHosts(ctx.db, pool)).filter(({ lookedAt }) => (lookedAt ?? 0) < before);
  await Promise.all(stale.map((host) => lookAt(ctx, host, signal).catch(() => {})));
  signal.throwIfAborted();
  const hosts = await listHosts(ctx.db, pool);
  const nodes = await listNodes(ctx.db, { pool });
  const left = await listLeftovers(ctx.db, ctx.seal, pool);
  const told = [
    ...hosts.map((host) => toldOf(host.name, isReady(host), stateOf(host, nodes))),
    ...left.map((one) => toldOf(one.name, false, howLeft(one))),
  ];
  return {
    pool_name: pool,
    context_name: contextOf(pool),
    status: readiness(hosts.some(isReady)),
    reason:
      told.map(({ name, reason }) => `${name}: ${reason}`).join("\n") ||
      `there is no host in a pool ${pool}`,
    hosts: told,
  };
}

const readiness = (isReady: boolean): Status["status"] => (isReady ? "Ready" : "Not Ready");

const toldOf = (name: string, isReady: boolean, reason: string): Status["hosts"][number] => ({
  name,
  status: readiness(isReady),
  reason,
});

/** A host of a pool, and how it is or why it cannot be used. */
export const howIs = (host: Host, nodes: readonly HostNode[]): string =>
  `${host.name}: ${stateOf(host, nodes)}`;

function stateOf(host: Host, nodes: readonly HostNode[]): string {
  const node = nodes.find((one) => one.host.pool === host.pool && one.host.name === host.name);
  if (host.problem !== null) return host.problem.replace(/^host \S+: /, "");
  if (host.facts === null) return "not checked yet";
  if (host.deployedAt === null) return "not deployed";
  const use = node && `node ${node.rank} of ${node.clusterName}`;
  const state = host.isDraining ? `draining${use ? `, ${use}` : ""}` : (use ?? "free");
  return `${state} (${describeHost(host.facts)})`;
}
