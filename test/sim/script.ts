import { openRandom, type Random } from "./random.ts";

/** Where something can go wrong on the way from control and back. */
export const places = ["create", "list", "stop", "destroy", "agent"] as const;
export type Place = (typeof places)[number];

/** What can go wrong with one call. */
export const troubles = ["refused", "answer lost", "twice", "slow"] as const;
export type Trouble = (typeof troubles)[number];

/** What users and the world do, and when; everything that is random about a run but its delays. */
export type Step = { readonly at: number } & (
  | { readonly do: "call"; user: string; operation: string; input: Record<string, unknown> }
  | { readonly do: "cancel"; user: string; step: number }
  | { readonly do: "idle"; name: string }
  | { readonly do: "crash"; statements: number; awayMs: number }
  | { readonly do: "restart" }
  | { readonly do: "trouble"; place: Place; trouble: Trouble; times: number }
  | { readonly do: "cut off"; name: string; rank: number; forMs: number }
  | { readonly do: "kill agent"; name: string; rank: number }
  | { readonly do: "lose node"; name: string; rank: number }
  | { readonly do: "preempt"; name: string; rank: number; inMs: number }
);

const names = ["a", "b", "c"];
const users = ["ann", "bob", "cyd"];
const lengthMs = 60_000;
const bursts = 3;

/** The script of a seed, in the order of its instants. */
export function scriptOf(seed: number): Step[] {
  const random = openRandom(seed, "script");
  const few = names.slice(0, random.pick([1, 1, 1, 2, 3]));
  const wishes = Array.from({ length: random.between(4, 14) }, () => aWish(random, few));
  const faults = Array.from({ length: random.between(0, 7) }, () => aFault(random, few));
  const steps = [...wishes, ...faults].map((step) => ({ at: anInstant(random), ...step }));
  return [{ at: 0, ...aLaunch(random, few) }, ...steps].sort((a, b) => a.at - b.at).map(withStep);

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

type Undated = Step extends infer S ? (S extends Step ? Omit<S, "at"> : never) : never;

function aWish(random: Random, few: readonly string[]): Undated {
  const user = random.pick(users);
  const cluster_name = random.pick(few);
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
    () => ({ do: "cancel", user, step: 0 }),
    () => ({ do: "cancel", user, step: 0 }),
    () => ({ do: "idle", name: cluster_name }),
    () => ({ do: "idle", name: cluster_name }),
  ])();
}

function aLaunch(random: Random, few: readonly string[]): Undated {
  const input = {
    cluster_name: random.pick(few),
    task: aTask(random, random.between(1, 2)),
    retry_until_up: random.chance(0.3),
    ...(random.chance(0.3) && { idle_minutes_to_autostop: 1, down: random.chance(0.5) }),
  };
  return { do: "call", user: random.pick(users), operation: "launch", input };
}

/** What it prints is how long it runs. */
function aTask(random: Random, nodes: number): string {
  const hooks = random.chance(0.4)
    ? "config:\n  hooks:\n    - run: 'true'\n      events: [stop, down]\n"
    : "";
  return `num_nodes: ${nodes}\nrun: sleep ${random.between(1, 40)}\n${hooks}`;
}

function aFault(random: Random, few: readonly string[]): Undated {
  const name = random.pick(few);
  const rank = random.between(0, 1);
  const place = random.pick(places);
  const trouble = random.chance(0.3) ? "slow" : random.pick(troubles);
  return random.pick<() => Undated>([
    () => ({ do: "crash", statements: random.between(0, 40), awayMs: random.between(0, 5_000) }),
    () => ({ do: "crash", statements: random.between(0, 40), awayMs: random.between(0, 5_000) }),
    () => ({ do: "restart" }),
    () => ({ do: "trouble", place, trouble, times: random.between(1, 3) }),
    () => ({ do: "trouble", place, trouble, times: random.between(1, 3) }),
    () => ({ do: "trouble", place, trouble, times: random.between(1, 3) }),
    () => ({ do: "cut off", name, rank, forMs: random.between(1_000, 30_000) }),
    () => ({ do: "kill agent", name, rank }),
    () => ({ do: "lose node", name, rank }),
    () => ({ do: "preempt", name, rank, inMs: random.between(2_000, 30_000) }),
  ])();
}
