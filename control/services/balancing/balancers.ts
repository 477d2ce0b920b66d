import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { isAlive } from "../../../common/process-tree.ts";
import {
  balancerOperations as api,
  type BalancerPlan,
  BalancerReport,
} from "../../../contract/balancer-api.ts";
import type { Context } from "../../context.ts";
import { linesOf } from "../../doors/lines.ts";
import { openSilence } from "../../doors/silence.ts";
import { nudge } from "../../reconciler.ts";
import { type Service, serviceKey } from "../schema.ts";
import {
  endBalancers,
  findBalancer,
  healthOf,
  type Leaving,
  type Reached,
  reachBalancer,
  untilGone,
} from "./process.ts";

/** The balancers of services: processes of their own, which outlive control. */
export interface Balancers {
  /** Has the balancer of a service run: adopted, started, or put in the place of an older build. */
  keep(service: Service, signal: AbortSignal): Promise<void>;
  /** As `keep`, but starts none: whoever goes down needs none. Whether one is there. */
  adopt(service: Service, signal: AbortSignal): Promise<boolean>;
  /** Tells a balancer that is kept what to do, unless it knows. */
  plan(service: Service, plan: Plan, signal: AbortSignal): Promise<void>;
  /**
   * The plan that all requests go by; undefined before it was told, and while one in whose place this
   * one is still finishes what it has.
   */
  told(serviceId: string): BalancerPlan | undefined;
  /** What a balancer last told; undefined before. */
  seen(serviceId: string): BalancerReport | undefined;
  /** Has whatever balances a service finish what is open for so long and end; it may be gone already. */
  end(service: Service, drainMs: number, signal: AbortSignal): Promise<void>;
  /** Listens to none any more; they go on. */
  stop(): Promise<void>;
}

/** A plan, which gets its revision as it is told. */
export type Plan = Omit<BalancerPlan, "revision">;

interface Kept {
  readonly reached: Reached;
  readonly abort: AbortController;
  readonly done: Promise<void>;
  told?: BalancerPlan;
  /** In whose place it is. */
  before?: readonly Leaving[];
  report?: BalancerReport;
}

/** Every five seconds there is a report at least. */
const silenceMs = 15_000;
const pauseMs = 500;
/** Connections at rest are left a second to ask once more. */
const leaveMs = 5_000;
/** How long one that another takes the place of may take to finish what is open. */
const replacedDrainMs = 600_000;

/** Keeps none yet. */
export function openBalancers(world: () => Context): Balancers {
  const kept = new Map<string, Kept>();

  async function forget(serviceId: string): Promise<void> {
    const one = kept.get(serviceId);
    kept.delete(serviceId);
    one?.abort.abort();
    await one?.done;
    await one?.reached.close();
  }

  function take(service: Service, reached: Reached): void {
    const abort = new AbortController();
    const heard = (report: BalancerReport) => hear(world(), kept.get(service.id), report, service);
    const done = listen(world(), service, reached, heard, abort.signal);
    kept.set(service.id, { reached, abort, done });
  }

  /** Whether the one that is kept is still there; one that is gone is forgotten. */
  async function isKept({ id }: Service, signal: AbortSignal): Promise<boolean> {
    const one = kept.get(id);
    const isThere = one !== undefined && (await healthOf(one.reached.api, signal)) !== undefined;
    if (!isThere) await forget(id);
    return isThere;
  }

  return {
    async keep(service, signal) {
      if (await isKept(service, signal)) return;
      take(service, await reachBalancer(world(), service, signal));
    },
    async adopt(service, signal) {
      if (await isKept(service, signal)) return true;
      const reached = await findBalancer(world(), service, signal);
      if (reached !== undefined) take(service, reached);
      return reached !== undefined;
    },
    async plan(service, plan, signal) {
      const one = kept.get(service.id);
      if (one === undefined || knows(one, plan)) return;
      const { reached } = one;
      // Above what another control, before this one, may have told.
      const overtaken = one.told?.revision ?? reached.health.revision ?? 0;
      const told = { ...plan, revision: Math.max(overtaken + 1, world().now().getTime()) };
      await reached.api.call(api.plan, told, { signal });
      // Only one that listens takes the place of another.
      const others = { drainMs: replacedDrainMs, except: reached.socket };
      if (one.told === undefined) one.before = await endBalancers(world(), service, others, signal);
      one.told = told;
    },
    told(serviceId) {
      const { told, before = [] } = kept.get(serviceId) ?? {};
      const isShared = before.some((one) => one.process !== undefined && isAlive(one.process));
      return isShared ? undefined : told;
    },
    seen: (serviceId) => kept.get(serviceId)?.report,
    async end(service, drainMs, signal) {
      await forget(service.id);
      const leaving = await endBalancers(world(), service, { drainMs }, signal);
      await untilGone(leaving, drainMs + leaveMs, signal);
    },
    async stop() {
      await Promise.all([...kept.keys()].map(forget));
    },
  };
}

const knows = ({ told }: Kept, plan: Plan): boolean =>
  told !== undefined && isDeepStrictEqual({ ...plan, revision: told.revision }, told);

/** Keeps a report; whoever decides looks at it when it says something new. */
function hear(ctx: Context, one: Kept | undefined, report: BalancerReport, { id }: Service): void {
  if (one === undefined) return;
  const isNews = !isDeepStrictEqual(newsOf(one.report), newsOf(report));
  one.report = report;
  ctx.changes.notify(serviceKey(id));
  if (isNews) void nudge(ctx, "service", id);
}

/** What a decision hangs on; loads are looked at from time to time. */
const newsOf = (report: BalancerReport | undefined) =>
  report && {
    revision: report.revision,
    replicas: report.replicas.map(({ id, readiness, problem, open }) => ({
      ...{ id, readiness, problem },
      isIdle: open === 0,
    })),
    isHolding: report.held > 0,
  };

/** Listens again whenever the response breaks off. */
async function listen(
  ctx: Context,
  service: Service,
  { api: behind }: Reached,
  heard: (report: BalancerReport) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      using silence = openSilence(silenceMs, signal);
      const { body } = await behind.open(api.reports, {}, silence.signal);
      for await (const line of linesOf(body)) {
        silence.heard();
        if (line !== "") heard(BalancerReport.parse(JSON.parse(line)));
      }
    } catch (error) {
      if (signal.aborted) return;
      ctx.log.debug({ err: error, service: service.name }, "balancer not heard");
    }
    void nudge(ctx, "service", service.id);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}
