import { AppError } from "../../../common/errors.ts";
import type { BalancerPlan, BalancerReport } from "../../../contract/balancer-api.ts";
import type { Context } from "../../context.ts";
import type { Service } from "../schema.ts";
import { KeptBalancer, type Plan } from "./kept.ts";
import { endBalancers, findBalancer, killSilent, reachBalancer, untilGone } from "./process.ts";

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

/** For so long one may be too busy to answer. */
const longestSilenceMs = 60_000;

type Find = typeof findBalancer;

/** Keeps none yet. */
export function openBalancers(world: () => Context, silenceMs = longestSilenceMs): Balancers {
  const kept = new Map<string, KeptBalancer>();
  /** Since when a balancer of a service has not answered, by what was to be done with it. */
  const silent = new Map<string, number>();
  let backAt: number | undefined;

  async function forget(serviceId: string): Promise<void> {
    const one = kept.get(serviceId);
    kept.delete(serviceId);
    await one?.leave();
  }

  /** One that does not answer may be busy, but not for ever: then it is killed, and not there the next time. */
  async function heard<T>(
    duty: "keep" | "plan" | "end",
    service: Service,
    work: Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const key = `${duty} ${service.id}`;
    try {
      const result = await work;
      silent.delete(key);
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || error.type !== "UnreachableError") throw error;
      const since = silent.get(key) ?? performance.now();
      silent.set(key, since);
      if (performance.now() - since >= silenceMs) await killSilent(world(), service, signal);
      throw error;
    }
  }

  /** Whether the one that is kept is still there; one that is gone is forgotten. */
  async function isKept({ id }: Service, signal: AbortSignal): Promise<boolean> {
    backAt ??= world().now().getTime();
    const isThere = (await kept.get(id)?.isThere(signal)) === true;
    if (!isThere) await forget(id);
    return isThere;
  }

  /** Whether there is one, by a way to find it where none is kept. */
  async function keepBy(find: Find, service: Service, signal: AbortSignal): Promise<boolean> {
    if (await isKept(service, signal)) return true;
    const reached = await find(world(), service, signal);
    if (reached !== undefined) kept.set(service.id, new KeptBalancer(world(), service, reached));
    return reached !== undefined;
  }

  async function end(service: Service, drainMs: number, signal: AbortSignal): Promise<void> {
    await forget(service.id);
    const leaving = await endBalancers(world(), service, { drainMs }, signal);
    await untilGone(leaving, drainMs + leaveMs, signal);
  }

  return {
    async keep(service, signal) {
      await heard("keep", service, keepBy(reachBalancer, service, signal), signal);
    },
    adopt: (service, signal) =>
      heard("keep", service, keepBy(findBalancer, service, signal), signal),
    plan: async (service, plan, signal) =>
      heard("plan", service, Promise.resolve(kept.get(service.id)?.plan(plan, signal)), signal),
    told: (serviceId) => kept.get(serviceId)?.told,
    seen: (serviceId) => kept.get(serviceId)?.report,
    backAt: () => backAt,
    end: (service, drainMs, signal) => heard("end", service, end(service, drainMs, signal), signal),
    async stop() {
      await Promise.all([...kept.keys()].map(forget));
    },
  };
}
