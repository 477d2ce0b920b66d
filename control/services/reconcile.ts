import type { Context } from "../context.ts";
import type { Reconciler } from "../reconciler.ts";
import { need } from "./balancing/need.ts";
import { carryOut } from "./carry-out.ts";
import { assign } from "./pools/assign.ts";
import { judgeAll } from "./replicas/readiness.ts";
import { stateOf } from "./state.ts";
import { findService, listServiceIds } from "./store.ts";
import { goDown } from "./teardown.ts";
import { openReadable } from "./versions/task.ts";

/** Brings services from what is to what is wanted: their balancers, and how many replicas there are; gives workers jobs. */
export const services: Reconciler = {
  name: "service",
  everyMs: 5_000,
  atOnce: 16,
  due: (ctx) => listServiceIds(ctx.db),
  reconcile,
};

async function reconcile(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  const service = await findService(ctx.db, id);
  if (service === undefined) return;
  // Whoever purged it could not know whether this loop was reaching for its balancer.
  if (service.status === "GONE")
    return service.isPool ? undefined : ctx.balancers.end(service, 0, signal);
  if (service.wanted === "GONE")
    return goDown(ctx, await stateOf(ctx, service, openReadable), signal);
  if (service.isPool) {
    await assign(ctx, service);
    return carryOut(ctx, await need(ctx, service, stateOf(ctx, service), signal), signal);
  }
  await need(ctx, service, ctx.balancers.keep(service, signal), signal);
  await judgeAll(ctx, await need(ctx, service, stateOf(ctx, service), signal));
  await carryOut(ctx, await stateOf(ctx, service), signal);
}
