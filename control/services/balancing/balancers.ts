import { AppError } from "../../../common/errors.ts";
import type { Context } from "../../context.ts";
import type { Balancers, Service } from "../schema.ts";
import { KeptBalancer } from "./managed-balancer.ts";
import { processes as ours, type Processes } from "./process.ts";
import { openPresence } from "./uptime.ts";

/** Connections at rest are left a second to ask once more. */
const leaveMs = 5_000;

/** For so long one may be too busy to answer. */
const longestSilenceMs = 60_000;

type Find = Processes["find"];

/** Keeps none yet. */
export function openBalancers(
  world: () => Context,
  silenceMs = longestSilenceMs,
  processes: Processes = ours,
): Balancers {
  const kept = new Map<string, KeptBalancer>();
  /** Since when a balancer of a service has not answered, by what was to be done with it. */
  const silent = new Map<string, number>();
  let presentSince: (() => number) | undefined;

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
      if (performance.now() - since >= silenceMs)
        await processes.killSilent(world(), service, signal);
      throw error;
    }
  }

  /** Whether the one that is kept is still there; one that is gone is forgotten. */
  async function isKept({ id }: Service, signal: AbortSignal): Promise<boolean> {
    presentSince ??= openPresence(() => world().now().getTime());
    presentSince();
    const isThere = (await kept.get(id)?.isThere(signal)) === true;
    if (!isThere) await forget(id);
    return isThere;
  }

  /** Reaches one of our build. Where there is none it is started, by whoever may write alone. */
  const reachOrStart: Find = async (ctx, service, signal) => {
    const found = await processes.findOurs(ctx, service, signal);
    if (found !== undefined) return found;
    await ctx.lease.check(ctx.db);
    return processes.start(ctx, service, signal);
  };

  /** Whether there is one, by a way to find it where none is kept. */
  async function keepBy(find: Find, service: Service, signal: AbortSignal): Promise<boolean> {
    if (await isKept(service, signal)) return true;
    const reached = await find(world(), service, signal);
    if (reached !== undefined)
      kept.set(service.id, new KeptBalancer(world(), service, reached, processes));
    return reached !== undefined;
  }

  async function end(service: Service, drainMs: number, signal: AbortSignal): Promise<void> {
    await forget(service.id);
    const leaving = await processes.end(world(), service, { drainMs }, signal);
    await processes.untilGone(leaving, drainMs + leaveMs, signal);
  }

  return {
    async keep(service, signal) {
      await heard("keep", service, keepBy(reachOrStart, service, signal), signal);
    },
    adopt: (service, signal) =>
      heard("keep", service, keepBy(processes.find, service, signal), signal),
    plan: async (service, plan, signal) =>
      heard("plan", service, Promise.resolve(kept.get(service.id)?.plan(plan, signal)), signal),
    told: (serviceId) => kept.get(serviceId)?.told,
    seen: (serviceId) => kept.get(serviceId)?.report,
    backAt: () => presentSince?.(),
    end: (service, drainMs, signal) => heard("end", service, end(service, drainMs, signal), signal),
    async stop() {
      await Promise.all([...kept.keys()].map(forget));
    },
  };
}
