import type { AppError } from "../../common/errors.ts";
import type { BalancerPlan, BalancerReport } from "../../contract/balancer-api.ts";
import type { Context } from "../../control/context.ts";
import { nudge } from "../../control/reconciler.ts";
import { type Balancers, type Service, serviceKey } from "../../control/services/schema.ts";

type SeenReplica = BalancerReport["replicas"][number];

/** A balancer that listens nowhere: what it sees is what a test says. */
export interface FakeBalancer {
  /** What it was told, one plan after another. */
  readonly plans: BalancerPlan[];
  /** Whether it has ended, and by how many ms for what was open. */
  endedWithin: number | undefined;
}

/** Balancers in memory; as processes would, they outlive the control planes that they are opened for. */
export interface FakeBalancers {
  /** What a control plane has of them. */
  open(world: () => Context): Balancers;
  /** Those that were started for a service, by its name. */
  of(name: string): FakeBalancer[];
  /** Has them see something of a replica, by its number, from now on. */
  sees(number: number, what: Partial<SeenReplica>): void;
  /** Has them tell something beside replicas from now on. */
  tells(what: Partial<BalancerReport>): void;
  /** Why none can be kept, or told a plan, from now on; undefined mends it. */
  fails(duty: "keep" | "plan", error: AppError | undefined): void;
  /** Ends the balancer of a service from outside. */
  kill(name: string): void;
}

interface Running extends FakeBalancer {
  readonly service: Service;
}

export interface FakeBalancersOptions {
  /** What is seen of a replica that nothing was said about. */
  readonly usually?: Partial<SeenReplica>;
}

/** Opens a place where none runs yet. */
export function openFakeBalancers({ usually = {} }: FakeBalancersOptions = {}): FakeBalancers {
  const started: Running[] = [];
  const failures = new Map<string, AppError>();
  const seen = new Map<number, Partial<SeenReplica>>();
  const listeners = new Set<() => void>();
  let more: Partial<BalancerReport> = {};
  const runningOf = (serviceId: string) =>
    started.findLast((one) => one.service.id === serviceId && one.endedWithin === undefined);
  const changed = () => {
    for (const listen of listeners) listen();
  };

  function mayFail(duty: "keep" | "plan"): void {
    const failure = failures.get(duty);
    if (failure !== undefined) throw failure;
  }

  function reportOf({ plans }: Running, now: number): BalancerReport {
    const plan = plans.at(-1);
    const replicas = (plan?.replicas ?? []).map(({ id }): SeenReplica => {
      const nothing = { readiness: "unknown", failingSince: null, problem: null } as const;
      return { id, ...nothing, since: now, open: 0, ...usually, ...seen.get(id) };
    });
    const quiet = { arrivals: [], held: 0, open: 0, at: now };
    return { revision: plan?.revision ?? null, replicas, ...quiet, ...more };
  }

  function open(world: () => Context): Balancers {
    const kept = new Set<string>();
    const told = new Map<string, BalancerPlan>();
    let backAt: number | undefined;
    const listen = () => {
      for (const id of kept) {
        world().changes.notify(serviceKey(id));
        void nudge(world(), "service", id);
      }
    };
    listeners.add(listen);

    function adopt({ id }: Service): boolean {
      backAt ??= world().now().getTime();
      if (runningOf(id) === undefined) {
        kept.delete(id);
        told.delete(id);
        return false;
      }
      kept.add(id);
      return true;
    }

    return {
      async keep(service) {
        mayFail("keep");
        if (adopt(service)) return;
        started.push({ service, plans: [], endedWithin: undefined });
        adopt(service);
      },
      adopt: async (service) => adopt(service),
      async plan({ id }, plan) {
        const before = told.get(id);
        const revision = before?.revision ?? Date.now();
        const running = kept.has(id) ? runningOf(id) : undefined;
        if (running === undefined) return;
        if (JSON.stringify(before) === JSON.stringify({ ...plan, revision })) return;
        mayFail("plan");
        const next = { ...plan, revision: revision + 1 };
        running.plans.push(next);
        told.set(id, next);
        listen();
      },
      told: (id) => told.get(id),
      backAt: () => backAt,
      seen(id) {
        const running = kept.has(id) ? runningOf(id) : undefined;
        return running && reportOf(running, world().now().getTime());
      },
      async end({ id }, drainMs) {
        for (const one of started)
          if (one.service.id === id && one.endedWithin === undefined) one.endedWithin = drainMs;
        kept.delete(id);
      },
      async stop() {
        listeners.delete(listen);
      },
    };
  }

  return {
    open,
    of: (name) => started.filter(({ service }) => service.name === name),
    sees(number, what) {
      seen.set(number, { ...seen.get(number), ...what });
      changed();
    },
    tells(what) {
      more = what;
      changed();
    },
    fails(duty, error) {
      if (error === undefined) failures.delete(duty);
      else failures.set(duty, error);
      changed();
    },
    kill(name) {
      for (const one of started) if (one.service.name === name) one.endedWithin ??= 0;
      changed();
    },
  };
}
