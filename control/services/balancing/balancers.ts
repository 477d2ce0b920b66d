import type { BalancerPlan, BalancerReport } from "../../../contract/balancer-api.ts";
import type { Context } from "../../context.ts";
import type { Service } from "../schema.ts";
import { KeptBalancer, type Plan } from "./kept.ts";
import { endBalancers, findBalancer, reachBalancer, untilGone } from "./process.ts";

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
  /** When this control plane first looked for any: before that, control was away. */
  backAt(): number | undefined;
  /** Has whatever balances a service finish what is open for so long and end; it may be gone already. */
  end(service: Service, drainMs: number, signal: AbortSignal): Promise<void>;
  /** Listens to none any more; they go on. */
  stop(): Promise<void>;
}

/** Connections at rest are left a second to ask once more. */
const leaveMs = 5_000;

/** Keeps none yet. */
export function openBalancers(world: () => Context): Balancers {
  const kept = new Map<string, KeptBalancer>();
  let backAt: number | undefined;

  async function forget(serviceId: string): Promise<void> {
    const one = kept.get(serviceId);
    kept.delete(serviceId);
    await one?.leave();
  }

  /** Whether the one that is kept is still there; one that is gone is forgotten. */
  async function isKept({ id }: Service, signal: AbortSignal): Promise<boolean> {
    backAt ??= world().now().getTime();
    const isThere = (await kept.get(id)?.isThere(signal)) === true;
    if (!isThere) await forget(id);
    return isThere;
  }

  return {
    async keep(service, signal) {
      if (await isKept(service, signal)) return;
      const reached = await reachBalancer(world(), service, signal);
      kept.set(service.id, new KeptBalancer(world(), service, reached));
    },
    async adopt(service, signal) {
      if (await isKept(service, signal)) return true;
      const reached = await findBalancer(world(), service, signal);
      if (reached !== undefined) kept.set(service.id, new KeptBalancer(world(), service, reached));
      return reached !== undefined;
    },
    plan: async (service, plan, signal) => kept.get(service.id)?.plan(plan, signal),
    told: (serviceId) => kept.get(serviceId)?.told,
    seen: (serviceId) => kept.get(serviceId)?.report,
    backAt: () => backAt,
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
