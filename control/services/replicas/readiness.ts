import type { Context } from "../../context.ts";
import { nudge } from "../../reconciler.ts";
import { isLive } from "../decisions/plan.ts";
import { drainMs } from "../schema.ts";
import type { State } from "../state.ts";
import { judge } from "./assess-probes.ts";
import { moveReplica } from "./move.ts";

/** What the answers of replicas to their probes make of them. */
export async function judgeAll(ctx: Context, { service, replicas, opened }: State): Promise<void> {
  const seen = ctx.balancers.seen(service.id);
  if (seen === undefined) return;
  for (const replica of replicas.filter(isLive)) {
    const probe = opened.get(replica.version)?.spec.probe;
    const one = seen.replicas.find(({ id }) => id === replica.number);
    // A report may be old while the balancer is not heard: no more time has passed for it.
    const verdict = probe && one && judge(replica, one, probe, seen.at, ctx.balancers.backAt());
    if (verdict === undefined) continue;
    // It answers no probe, and may be in the middle of answering requests.
    const isServing = verdict.to === "FAILED_PROBING";
    const change = isServing ? { drainUntil: ctx.now().getTime() + drainMs } : {};
    await moveReplica(ctx, replica, { ...verdict, change });
    void nudge(ctx, "replica", replica.id);
  }
}
