import type { WallClock } from "./clock.ts";
import { aJobCluster, aJobLaunch, aJobLoss, aJobRead, aJobWish, aLeasedJob } from "./job-wishes.ts";
import { aPoolApply, aPoolWish } from "./pool-wishes.ts";
import { openRandom, type Random } from "./random.ts";
import type { Read } from "./reads.ts";

/** Where something can go wrong on the way from control and back. */
export const places = ["create", "list", "stop", "destroy", "agent", "balancer"] as const;
export type Place = (typeof places)[number];

/** What can go wrong with one call. */
export const troubles = ["refused", "answer lost", "twice", "slow"] as const;
export type Trouble = (typeof troubles)[number];

/** Where the cloud has machines, the cheapest first. */
export const zones = ["a", "b", "c"] as const;
export type Zone = (typeof zones)[number];

/** What users and the world do, and when; everything that is random about a run but its delays. */
export type Step = { readonly at: number } & (
  | { readonly do: "call"; user: string; operation: string; input: Record<string, unknown> }
  | ({ readonly do: "read" } & Read)
  | { readonly do: "cancel"; user: string; step: number }
  | { readonly do: "collect" }
  | { readonly do: "idle"; name: string }
  | { readonly do: "crash"; statements: number; awayMs: number }
  | { readonly do: "restart" }
  | { readonly do: "trouble"; place: Place; trouble: Trouble; times: number }
  | { readonly do: "full"; zone: Zone; forMs: number }
  | { readonly do: "queue"; zone: Zone; forMs: number }
  | { readonly do: "cut off" | "isolate"; name: string; rank: number; forMs: number }
  | { readonly do: "kill agent" | "reboot"; name: string; rank: number; awayMs: number }
  | { readonly do: "lose node"; name: string; rank: number }
  | { readonly do: "preempt"; name: string; rank: number; inMs: number; endsJobsInMs?: number }
  | { readonly do: "kill balancer"; name: string }
  | { readonly do: "fill disk"; statements: number; forMs: number }
  | { readonly do: "step clock"; whose: WallClock; byMs: number }
  | { readonly do: "freeze"; how: "paused" | "asleep"; forMs: number }
  | { readonly do: "overtake"; forMs: number }
  | { readonly do: "slow node"; name: string; rank: number; byMs: number; forMs: number }
  | { readonly do: "silence"; name: string; rank: number; forMs: number }
);

/** The last one is what a job calls its cluster. */
const names = ["a", "b", "j-1"];
const serviceNames = ["s", "t"];
const jobNames = ["j", "k"];
const users = ["ann", "bob", "cyd"];
const lengthMs = 60_000;
const bursts = 3;

/** The most that a script may have of each. Most scripts are short, so that more of them are played in the same time. */
const lengths = {
  short: { wishes: 7, faults: 5, jobs: [0, 0, 1], services: [0, 1, 1] },
  long: { wishes: 14, faults: 9, jobs: [0, 0, 1, 1, 2], services: [0, 1, 1, 2] },
};

/** What the steps of a script are about. */
interface Few {
  readonly clusters: readonly string[];
  readonly services: readonly string[];
  /** Managed jobs; several may have the same name. */
  readonly jobs: readonly string[];
  readonly pools: readonly string[];
}

/** The script of a seed, in the order of its instants. */
export function scriptOf(seed: number): Step[] {
  const random = openRandom(seed, "script");
  const most = random.chance(0.6) ? lengths.short : lengths.long;
  const jobs = jobNames.slice(0, random.pick(most.jobs));
  const few = {
    clusters: random.pick([["a"], ["a"], ["a"], ["a", "b"], names, ["j-1"]]),
    // Scripts with jobs have fewer services, so that they take no longer.
    services: serviceNames.slice(0, random.pick(jobs.length > 0 ? [0, 0, 1] : most.services)),
    jobs,
    pools: jobs.length > 0 ? random.pick([[], ["w"]]) : [],
  };
  const wishes = Array.from({ length: random.between(2, most.wishes) }, () => aWish(random, few));
  const areNodesWell = random.chance(0.3);
  const all = Array.from({ length: random.between(0, most.faults) }, () => aFault(random, few));
  const faults = all.filter((step) => !(areNodesWell && hurtsNodes(step)));
  const steps = [...wishes, ...faults].map((step) => ({ at: anInstant(random), ...step }));
  const ups = few.services.map((name) => ({ at: 0, ...serviceUp(random, name) }));
  const applied = few.pools.map((name) => ({ at: 0, ...aPoolApply(random, "ann", name) }));
  const launches = jobs.map((name) => ({
    // Pools are there by then.
    at: few.pools.length * 1_000,
    ...aJobLaunch(random, random.pick(users), name, few.pools),
  }));
  const leased =
    jobs.length > 0 && random.chance(0.3) ? aLeasedJob(random, random.pick(users)) : [];
  return [...leased, { at: 0, ...aLaunch(random, few) }, ...ups, ...applied, ...launches, ...steps]
    .sort((a, b) => a.at - b.at)
    .map(withStep);

  function withStep(step: Step, index: number): Step {
    return step.do === "cancel" ? { ...step, step: random.between(0, index) } : step;
  }
}

/** Most things come in bursts, so that they meet each other's work, which takes seconds. */
const anInstant = (random: Random): number =>
  random.chance(0.2)
    ? random.between(0, lengthMs)
    : random.between(0, bursts - 1) * (lengthMs / bursts) +
      random.between(0, random.pick([100, 6_000]));

export type Undated = Step extends infer S ? (S extends Step ? Omit<S, "at"> : never) : never;

const aWish = (random: Random, few: Few): Undated => {
  if (random.chance(0.15)) return aRead(random, few);
  const { jobs, pools } = few;
  if (pools.length > 0 && random.chance(0.2))
    return aPoolWish(random, random.pick(users), random.pick(pools));
  if (jobs.length > 0 && random.chance(0.4))
    return aJobWish(random, random.pick(users), random.pick(jobs), pools);
  return few.services.length > 0 && random.chance(0.5)
    ? aServiceWish(random, random.pick(few.services))
    : aClusterWish(random, few);
};

function aRead(random: Random, { clusters, jobs }: Few): Undated {
  const [user, name] = [random.pick(users), random.pick(clusters)];
  if (jobs.length > 0 && random.chance(0.5)) return aJobRead(random, user, random.pick(jobs));
  const read = (operation: string, input: Record<string, unknown>): Undated => ({
    ...{ do: "read", user, operation, name, input },
  });
  const of = { cluster_name: name };
  // Keys of shells are made of bytes that no seed determines.
  const looked = { cluster_names: [name], include_credentials: false };
  return random.pick<() => Undated>([
    () => read("status", looked),
    () => read("status", looked),
    () => read("queue", { ...of, skip_finished: random.chance(0.5), all_users: true }),
    () => read("logs", { ...of, job_id: null, follow: random.chance(0.7) }),
    () => ({ do: "collect" }),
  ])();
}

function aClusterWish(random: Random, few: Few): Undated {
  const user = random.pick(users);
  const cluster_name = random.pick(few.clusters);
  const call = (operation: string, input = {}): Undated => ({
    ...{ do: "call", user, operation },
    input: { cluster_name, ...input },
  });
  const setting = { idle_minutes: random.between(-1, 2), down: random.chance(0.5) };
  return random.pick<() => Undated>([
    () => aLaunch(random, few),
    () => aLaunch(random, few),
    () => call("start", { retry_until_up: random.chance(0.3) }),
    () => call("start"),
    () => call("stop", { skip_hooks: random.chance(0.2) }),
    () => call("stop"),
    () => call("down", { skip_hooks: random.chance(0.2) }),
    () => call("down"),
    () => call("exec", { task: aTask(random, 1) }),
    () => call("autostop", setting),
    () => call("cancel", { all_users: random.chance(0.7), all: false, job_ids: null }),
    () => ({ do: "cancel", user, step: 0 }),
    () => ({ do: "cancel", user, step: 0 }),
    () => ({ do: "idle", name: cluster_name }),
    () => ({ do: "idle", name: cluster_name }),
  ])();
}

function aServiceWish(random: Random, service_name: string): Undated {
  const user = random.pick(users);
  const call = (operation: string, input: Record<string, unknown>): Undated => ({
    ...{ do: "call", user, operation: `serve.${operation}`, input },
  });
  const update = () => {
    const task = aService(random, random.pick(["well", "well", "well", "mute", "crash"]));
    return call("update", { service_name, task, mode: random.pick(["rolling", "blue_green"]) });
  };
  return random.pick<() => Undated>([
    () => serviceUp(random, service_name),
    () => serviceUp(random, service_name),
    ...[update, update, update],
    () => call("down", { service_names: [service_name] }),
    () => call("down", { service_names: null, all: true }),
    () => call("terminate_replica", { service_name, replica_id: random.between(1, 4) }),
    () => ({ do: "cancel", user, step: 0 }),
  ])();
}

const serviceUp = (random: Random, service_name: string): Undated => ({
  ...{ do: "call", user: random.pick(users), operation: "serve.up" },
  input: { service_name, task: aService(random, "well") },
});

function aService(random: Random, how: string): string {
  const probe = "{path: /, initial_delay_seconds: 30, failure_window_seconds: 30}";
  const replicas = random.between(1, 3);
  return `resources: {ports: 8080}\nservice: {replicas: ${replicas}, readiness_probe: ${probe}}\nrun: serve ${how}\n`;
}

function aLaunch(random: Random, few: Few): Undated {
  const input = {
    cluster_name: random.pick(few.clusters),
    task: aTask(random, random.between(1, 2)),
    retry_until_up: random.chance(0.3),
    cancel_stop: random.chance(0.3),
    ...(random.chance(0.3) && { idle_minutes_to_autostop: 1, down: random.chance(0.5) }),
  };
  return { do: "call", user: random.pick(users), operation: "launch", input };
}

function aTask(random: Random, nodes: number): string {
  const hooks = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, () => aHook(random));
  const list = hooks.length > 0 ? `config:\n  hooks:\n${hooks.join("")}` : "";
  return `num_nodes: ${nodes}\nrun: sleep ${random.between(1, 40)}\n${list}`;
}

function aHook(random: Random): string {
  const events = random.pick(["[stop, down]", "[down]", "[stop]", "[preemption, stop, down]"]);
  const run = `sleep ${random.between(1, 30)}`;
  return `    - {run: ${run}, events: ${events}, timeout: ${random.between(5, 60)}}\n`;
}

/** A cluster, of a worker, of a job, of a replica, or of none of them. */
const aCluster = (random: Random, { clusters, services, jobs, pools }: Few): string => {
  if (pools.length > 0 && random.chance(0.5)) return `${pools[0]}-${random.between(1, 4)}`;
  if (jobs.length > 0 && random.chance(0.5)) return aJobCluster(random);
  return services.length > 0 && random.chance(0.5)
    ? `${random.pick(services)}-${random.between(1, 5)}`
    : random.pick(clusters);
};

/** Faults of nodes, of their provider, and of the ways there; all others are those of control and its machine. */
const onNodes: readonly Step["do"][] = [
  ...(["trouble", "cut off", "isolate", "slow node", "silence"] as const),
  ...(["kill agent", "reboot", "lose node", "preempt", "full"] as const),
];

/** Steps at which nothing goes wrong. */
const calm: readonly Step["do"][] = ["call", "read", "cancel", "collect", "idle", "queue"];

/** Whether a step is nothing but a wish, or something that happens all the time. */
export const isCalm = (step: Pick<Step, "do">): boolean => calm.includes(step.do);

/** Whether a step has control do nothing for a while. */
export const freezes = (step: Pick<Step, "do">): boolean =>
  step.do === "freeze" || step.do === "overtake";

/** Whether a step does anything to nodes that control could mistake for their end. */
export const hurtsNodes = (step: Pick<Step, "do">): boolean => onNodes.includes(step.do);

function aFault(random: Random, few: Few): Undated {
  if (few.jobs.length > 0 && random.chance(0.3)) return aJobLoss(random);
  const name = aCluster(random, few);
  const rank = random.between(0, 1);
  const node = { name, rank, forMs: random.between(1_000, 60_000) };
  const awayMs = random.between(0, random.pick([2_000, 30_000]));
  const place = random.pick(places);
  const trouble = random.chance(0.3) ? "slow" : random.pick(troubles);
  const full = (): Undated => {
    const zone = random.pick<Zone>(["a", "a", "b", "c"]);
    return { do: "full", zone, forMs: random.between(1_000, 90_000) };
  };
  return random.pick<() => Undated>([
    () => ({ do: "crash", statements: random.between(0, 40), awayMs: random.between(0, 5_000) }),
    () => ({ do: "crash", statements: random.between(0, 40), awayMs: random.between(0, 5_000) }),
    () => ({ do: "restart" }),
    () => ({ do: "trouble", place, trouble, times: random.between(1, 3) }),
    () => ({ do: "trouble", place, trouble, times: random.between(1, 3) }),
    () => ({ do: "trouble", place, trouble, times: random.between(1, 3) }),
    () => ({ do: "cut off", name, rank, forMs: random.between(1_000, 30_000) }),
    ...[full, full],
    () => ({ do: "queue", zone: random.pick(zones), forMs: random.between(1_000, 60_000) }),
    () => ({ do: "kill agent", name, rank, awayMs }),
    () => ({ do: "reboot", name, rank, awayMs }),
    () => ({ do: "lose node", name, rank }),
    () => ({ do: "preempt", name, rank, inMs: random.between(2_000, 30_000) }),
    () => aFullDisk(random),
    () => ({ do: "step clock", whose: random.pick(["control", "nodes"]), byMs: aStep(random) }),
    () => aFreeze(random),
    () => ({ do: "overtake", forMs: random.between(10, random.pick([1_000, 60_000])) }),
    () => ({ do: "slow node", ...node, byMs: random.between(200, 12_000) }),
    () => ({ do: "silence", ...node }),
    ...few.services.map((service) => () => ({ do: "kill balancer" as const, name: service })),
  ])();
}

/** By seconds or hours, forward or back. */
const aStep = (random: Random): number =>
  random.pick([-1, 1]) * random.pick([1_000, 3_600_000]) * random.between(1, 10);

const aFullDisk = (random: Random): Undated => ({
  do: "fill disk",
  statements: random.between(1, 40),
  forMs: random.between(100, random.pick([5_000, 40_000])),
});

function aFreeze(random: Random): Undated {
  const how = random.pick(["paused", "asleep"] as const);
  return { do: "freeze", how, forMs: random.between(2_000, random.pick([20_000, 600_000])) };
}
