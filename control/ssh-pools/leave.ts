import type { Context } from "../context.ts";
import { cleanHost, type ReachedHost } from "../doors/ssh/agent-service.ts";
import { findTwin } from "./deploy.ts";
import type { Host } from "./schema.ts";

/** No longer than a host that is away takes to be found out. */
const cleanMs = 10_000;

/** A host that leaves its pool, and the way there that nobody knows afterwards. */
interface Way {
  readonly host: Host;
  readonly reached: ReachedHost;
}

/** The ways to those hosts that have something of ours. */
export async function waysTo(ctx: Context, hosts: readonly Host[]): Promise<Way[]> {
  const { connections: ssh, targetOf } = ctx.ssh;
  const wayTo = async (host: Host): Promise<Way[]> => {
    const { facts, deployedAt, isDirty } = host;
    if (facts === null || (deployedAt === null && !isDirty)) return [];
    const target = await targetOf(host).catch(() => undefined);
    return target === undefined ? [] : [{ host, reached: { ssh, target, facts } }];
  };
  return (await Promise.all(hosts.map(wayTo))).flat();
}

/** Removes what is ours from hosts that left their pool. It is tried once: who cannot be reached keeps it. */
export async function cleanLeft(ctx: Context, ways: readonly Way[]): Promise<void> {
  const cleanOne = async ({ host, reached }: Way) => {
    if ((await findTwin(ctx, host, reached)) !== undefined) return;
    const { pool, name } = host;
    try {
      await cleanHost(reached, AbortSignal.timeout(cleanMs));
      ctx.log.info({ pool, name }, "host left its pool clean");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      ctx.log.warn({ pool, name, why }, "host left its pool with files of ours");
    }
  };
  await Promise.all(ways.map(cleanOne));
}
