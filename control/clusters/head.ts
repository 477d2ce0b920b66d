import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../common/errors.ts";
import type { Context } from "../context.ts";
import type { Agent } from "../doors/agent.ts";
import type { Cluster } from "./schema.ts";
import { findCluster } from "./store.ts";

/** How long an agent may be away; one that crashed is back within a second or two. */
const patienceMs = 10_000;
const pauseMs = 100;

/** The agent of a cluster's head, for the calls of users. */
export const headOf = (ctx: Context, cluster: Cluster): Agent => nodeOf(ctx, cluster, 0);

/**
 * The agent of a node, for the calls of users: while it is away it is asked again, as every call of
 * its API may be repeated. Throws `UnreachableError` when it stays away.
 */
export function nodeOf(ctx: Context, cluster: Cluster, rank: number): Agent {
  const node = () => ctx.agent(cluster, rank);
  const stays = async () => (await findCluster(ctx.db, cluster.id))?.wanted === "UP";
  const patiently = patienceOf(ctx.steadyNow, stays);
  return {
    call: (row, input, options = {}) =>
      patiently(() => node().call(row, input, options), options.signal),
    open: (row, input, signal) => patiently(() => node().open(row, input, signal), signal),
  };
}

/** Asks again for as long as it makes sense. */
const patienceOf = (now: () => number, stays: () => Promise<boolean>) =>
  async function patiently<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (const since = now(); ; ) {
      try {
        return await ask();
      } catch (error) {
        const isAway = error instanceof AppError && error.type === "UnreachableError";
        if (!isAway || signal?.aborted || now() - since > patienceMs) throw error;
        if (!(await stays())) throw error;
      }
      await sleep(pauseMs, undefined, signal && { signal });
    }
  };
