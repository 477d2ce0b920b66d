import type { Stream } from "../../common/server.ts";
import {
  type BalancerHealth,
  type BalancerPlan,
  type BalancerReport,
  balancerOperations,
} from "../../contract/balancer-api.ts";
import {
  afterAnswer,
  afterRefusal,
  nothingSeen,
  type Seen,
} from "../../control/balancer/readiness.ts";
import { agentBehind } from "../../control/doors/agent.ts";
import type { Processes } from "../../control/services/balancing/process.ts";
import { healthOf } from "../../control/services/balancing/reach.ts";
import { type Behind, openDoor, routesOf } from "./door.ts";
import type { Network } from "./network.ts";

/** The balancers of services, as processes that outlive control. */
export interface Balancers {
  readonly processes: Processes;
  /** The services that have one. */
  serviceIds(): string[];
  kill(serviceId: string): void;
}

/** How the server of a replica answers its probe: null is well, `refused` is that nobody listens. */
export type Probed = (host: string, port: number) => string | null;

interface Running {
  readonly pid: number;
  readonly serviceId: string;
  readonly streams: Set<() => void>;
  readonly seen: Map<number, Seen>;
  plan: BalancerPlan | undefined;
  /** Wakes those who wait for the next report. */
  waiting: (() => void)[];
}

const probeMs = 5_000;
const routes = routesOf(balancerOperations);

/** Opens a place where none runs yet. */
export function openSimBalancers(network: Network, probed: Probed): Balancers {
  const running = new Map<string, Running>();
  let pids = 0;

  function start(serviceId: string): void {
    pids += 1;
    const more = { seen: new Map(), streams: new Set<() => void>(), plan: undefined, waiting: [] };
    const one: Running = { pid: pids, serviceId, ...more };
    running.set(serviceId, one);
    probe(one);
  }

  function kill(serviceId: string): void {
    const one = running.get(serviceId);
    running.delete(serviceId);
    for (const cut of [...(one?.streams ?? [])]) cut();
  }

  /** Asks every replica of a plan, and tells what came of it. */
  function probe(one: Running): void {
    if (running.get(one.serviceId) !== one) return;
    for (const { id, host, port } of one.plan?.replicas ?? [])
      one.seen.set(id, asked(one, id, probed(host, port)));
    wake(one);
    network.clock.after(probeMs, () => probe(one), "host");
  }

  function asked({ plan, seen }: Running, id: number, problem: string | null): Seen {
    const now = Date.now();
    const before = seen.get(id) ?? nothingSeen(now);
    const version = plan?.replicas.find((replica) => replica.id === id)?.version;
    const thresholds = plan?.probes[version ?? 0];
    if (problem === "refused" || thresholds === undefined) return afterRefusal(before, now);
    return afterAnswer(before, problem, thresholds, now);
  }

  const behindOf = (serviceId: string): Behind => ({
    place: "balancer",
    routes,
    bound: () => boundOf(running.get(serviceId)),
    streamsOf: () => running.get(serviceId)?.streams,
    lateMs: () => 0,
    answered() {},
  });

  const reach: Processes["reach"] = async ({ name }, socket, signal) => {
    const api = agentBehind(openDoor(network, socket, behindOf(socket)), `the balancer of ${name}`);
    const health = await healthOf(api, signal);
    return health && { api, socket, health, close: async () => {} };
  };

  const find: Processes["find"] = (_ctx, service, signal) => reach(service, service.id, signal);

  const processes: Processes = {
    ...{ reach, find, findOurs: find },
    async start(ctx, service, signal) {
      if (!running.has(service.id)) start(service.id);
      return (await find(ctx, service, signal)) ?? Promise.reject(new Error("it ended at once"));
    },
    async end(ctx, service, { except }, signal) {
      if (except === service.id || (await find(ctx, service, signal)) === undefined) return [];
      kill(service.id);
      return [];
    },
    async untilGone() {},
    async killSilent(_ctx, service, signal) {
      await reach(service, service.id, signal).catch(() => kill(service.id));
    },
  };

  return { processes, serviceIds: () => [...running.keys()], kill };
}

function boundOf(one: Running | undefined): object | undefined {
  if (one === undefined) return undefined;
  const health = (): BalancerHealth => ({
    ...{ build: "sim", pid: one.pid, listen: { host: "127.0.0.1", port: 1 } },
    revision: one.plan?.revision ?? null,
  });
  return {
    health,
    plan(plan: BalancerPlan) {
      if (plan.revision > (one.plan?.revision ?? -1)) follow(one, plan);
      return health();
    },
    reports: (_input: unknown, { signal }: { signal: AbortSignal }): Stream => ({
      type: "application/x-ndjson",
      content: reportsOf(one, signal),
    }),
  };
}

function follow(one: Running, plan: BalancerPlan): void {
  one.plan = plan;
  const planned = new Set(plan.replicas.map(({ id }) => id));
  for (const id of one.seen.keys()) if (!planned.has(id)) one.seen.delete(id);
  wake(one);
}

function wake(one: Running): void {
  for (const resolve of one.waiting.splice(0)) resolve();
}

async function* reportsOf(one: Running, signal: AbortSignal): AsyncGenerator<string> {
  signal.addEventListener("abort", () => wake(one));
  while (!signal.aborted) {
    yield `${JSON.stringify(reportOf(one))}\n`;
    await new Promise<void>((resolve) => one.waiting.push(resolve));
  }
}

function reportOf({ plan, seen }: Running): BalancerReport {
  const now = Date.now();
  const replicas = (plan?.replicas ?? []).map(({ id }) => {
    const { goods: _, bads: __, ...told } = seen.get(id) ?? nothingSeen(now);
    return { id, open: 0, ...told };
  });
  return { revision: plan?.revision ?? null, replicas, arrivals: [], held: 0, open: 0, at: now };
}
