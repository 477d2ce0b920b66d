import { AppError, fail, toAppError } from "../../common/errors.ts";
import type { Context } from "../context.ts";
import { cleanHost } from "../doors/ssh/agent-service.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";
import { machineOf } from "../doors/ssh/target.ts";
import type { Ground } from "../ground.ts";
import type { Reconciler } from "../reconciler.ts";
import { findTwin } from "./leave.ts";
import { fetchRest } from "./left-node.ts";
import * as store from "./leftover-store.ts";
import type { Leftover } from "./schema.ts";

/** No longer than a host that is away takes to be found out. */
const cleanMs = 10_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Removes what is ours from hosts that left their pool, whenever they are on again. */
export const sshLeftovers = {
  name: "ssh_leftover",
  everyMs: 15_000,
  atOnce: 64,
  async due({ db, seal, now }: Ground) {
    const at = now().getTime();
    const all = await store.listLeftovers(db, seal);
    return all.filter((one) => at >= nextTryAt(one)).map(({ id }) => id);
  },
  reconcile,
} satisfies Reconciler;

/** It waits as long again as it has waited already. */
const nextTryAt = ({ leftAt, triedAt }: Leftover): number =>
  triedAt + Math.min(Math.max(triedAt - leftAt, minuteMs), hourMs);

async function reconcile(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  const left = await store.findLeftover(ctx.db, ctx.seal, id);
  if (left === undefined) return;
  let limit = AbortSignal.timeout(cleanMs);
  const { pool, name } = left;
  try {
    const reached = await reach(ctx, left);
    const twin = await findTwin(ctx.db, left, left.machine, left.facts.user);
    if (twin === undefined) {
      await fetchRest(ctx, reached, signal);
      limit = AbortSignal.timeout(cleanMs);
      await cleanHost(reached, AbortSignal.any([signal, limit]));
    }
    await ctx.batch((tx) => store.deleteLeftover(tx, id, left.leftAt));
    ctx.log.info({ pool, name, id }, "Outrigger was removed from a host");
  } catch (error) {
    signal.throwIfAborted();
    const isOurs = !limit.aborted && !(error instanceof AppError);
    if (isOurs) ctx.log.error({ err: error, pool, name }, "host not cleaned");
    const problem = limit.aborted
      ? `it was not clean after ${cleanMs / 1000} s`
      : toAppError(error).message;
    await ctx.batch((tx) => store.setLeftover(tx, id, { problem, triedAt: ctx.now().getTime() }));
    ctx.log.warn({ pool, name, id, why: problem }, "Outrigger was not removed from a host");
  }
}

/** A name may lead to another machine by now, on which we have no business. */
async function reach({ ssh }: Context, left: Leftover): Promise<ReachedHost> {
  const target = await ssh.resolve(left.entry);
  const machine = machineOf(target);
  if (machine === left.machine) return { ssh: ssh.connections, facts: left.facts, target };
  return fail("ConfigError", `it was ${left.machine}, and its name leads to ${machine} now`);
}
