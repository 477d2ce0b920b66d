import { AppError } from "../../common/errors.ts";
import type { Context } from "../context.ts";
import { machineOf } from "../doors/ssh/target.ts";
import type { Reconciler } from "../reconciler.ts";
import { keepingProblem, lookAt } from "./inspect-host.ts";
import { removeLeftNode } from "./left-node.ts";
import { findHost, findNodeOn, listHosts, setHost } from "./store.ts";

/** Looks after hosts that cannot be used or were not cleaned, so that they can be used again. */
export const sshHosts: Reconciler = {
  name: "ssh_host",
  everyMs: 15_000,
  atOnce: 16,
  async due(ctx) {
    const hosts = await listHosts(ctx.db);
    return hosts
      .filter(({ deployedAt }) => deployedAt !== null)
      .filter(({ problem, isDirty }) => problem !== null || isDirty)
      .map(({ pool, name }) => `${pool}/${name}`);
  },
  reconcile,
};

/** One that is still in trouble has that kept, and its turn again. */
async function reconcile(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  const at = id.indexOf("/");
  const ref = { pool: id.slice(0, at), name: id.slice(at + 1) };
  const host = await findHost(ctx.db, ref);
  if (host === undefined) return;
  try {
    const reached = await lookAt(ctx, ref, signal);
    const node = await findNodeOn(ctx.db, machineOf(reached.target));
    if (!host.isDirty || node !== undefined) return;
    await keepingProblem(ctx, ref, signal, () => removeLeftNode(ctx, reached, signal));
    await ctx.batch((tx) => setHost(tx, ref, { isDirty: false }));
    ctx.log.info(ref, "host cleaned");
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}
