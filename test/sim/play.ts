import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { databaseOf } from "../../control/home.ts";
import { type Balancers, openSimBalancers } from "./balancers.ts";
import { type Checks, openChecks, Violation } from "./checks.ts";
import { openClock } from "./clock.ts";
import { type Cloud, openCloud } from "./cloud.ts";
import { type Host, openHost } from "./host.ts";
import { installRandom } from "./machine.ts";
import { type Network, openNetwork } from "./network.ts";
import { openRandom } from "./random.ts";
import { hurtsNodes, type Step } from "./script.ts";

/** What came of a script. */
export interface Outcome {
  /** What was violated first; null where all went well. */
  readonly failure: Violation | null;
  /** What happened, a line each. */
  readonly trace: readonly string[];
  /** Two runs with the same hash were the same. */
  readonly hash: string;
}

/** A step with its number in the whole script. */
export type Numbered = readonly [number: number, step: Step];

/** How long faults go on after the last step. */
const faultyMs = 20_000;
/** Once they are over, everything becomes what is wanted within this time, and what is taken down too. */
const settlesWithinMs = 15 * 60_000;
/** More than any run takes; one that takes as many goes in circles. */
const tasksAtMost = 150_000;

/** Control, its cloud and its users, as they are while a script is played. */
interface Stage {
  readonly network: Network;
  readonly cloud: Cloud;
  readonly balancers: Balancers;
  readonly host: Host;
  readonly checks: Checks;
  readonly trace: string[];
  note(line: string): void;
  /** Notes what a check throws. */
  guarded(check: () => void): void;
  failure(): Violation | null;
  /** Whether anything was committed since this was last asked. */
  hasChanged(): boolean;
  /** How often jobs were begun, by the request that handed them in. */
  readonly begun: Map<string, number>;
  /** Requests by the number of their steps. */
  readonly requests: Map<number, string>;
}

/** Plays steps against a control plane of its own. The same seed and steps give the same outcome. */
export async function play(
  seed: number,
  steps: readonly Numbered[],
  { folder, template }: { folder: string; template: string },
): Promise<Outcome> {
  const home = mkdtempSync(join(folder, "home-"));
  cpSync(template, home, { recursive: true });
  const stage = openStage(seed, home, steps);
  const { network, host, checks, trace } = stage;
  try {
    for (const [number, step] of steps)
      network.clock.after(step.at, () => void take(stage, number, step));
    host.start();
    await lead(stage, steps);
  } finally {
    await host.close();
    checks.close();
    rmSync(home, { recursive: true, force: true });
  }
  const hash = createHash("sha256").update(trace.join("\n")).digest("hex");
  return { failure: stage.failure(), trace, hash };
}

function openStage(seed: number, home: string, steps: readonly Numbered[]): Stage {
  const trace: string[] = [];
  const begun = new Map<string, number>();
  let failure: Violation | null = null;
  let hasChanged = true;
  installRandom(openRandom(seed, "control"));
  const clock = openClock();
  const note = (line: string) => trace.push(`${(clock.now() / 1_000).toFixed(3)} ${line}`);

  function failed(error: unknown): void {
    if (failure !== null) return;
    failure = error instanceof Violation ? error : new Violation("a bug", String(error));
    note(`FAILED: ${failure.message}: ${failure.detail}`);
  }

  function guarded(check: () => void): void {
    try {
      check();
    } catch (error) {
      failed(error);
    }
  }

  const network = openNetwork(clock, openRandom(seed, "network"), note);
  const checks = openChecks(databaseOf(home));
  const cloud: Cloud = openCloud(network, {
    ending: (how, clusterId) => guarded(() => checks.ending(how, clusterId)),
    began: (id) => void begun.set(id, (begun.get(id) ?? 0) + 1),
    cancelled: (id) => guarded(() => checkCancelled(id, steps)),
    trace: note,
  });
  const balancers = openSimBalancers(network, cloud.probed);
  const { provider } = cloud;
  const clusterIds = () => cloud.clusterIds("in time");
  const { serviceIds, processes } = balancers;
  const changed = () => {
    hasChanged = true;
    guarded(() => checks.committed({ clusterIds, serviceIds }));
  };
  const outside = () => ({ provider, processes });
  const host = openHost(
    home,
    network,
    outside,
    { note, failed, changed },
    openRandom(seed, "disk"),
  );
  return {
    ...{ network, cloud, balancers, host, checks, trace, note, guarded, begun },
    failure: () => failure,
    hasChanged() {
      const had = hasChanged;
      hasChanged = false;
      return had;
    },
    requests: new Map(),
  };
}

/** Lets faults happen, then everything settle, then takes it all down; checks on the way. */
async function lead(stage: Stage, steps: readonly Numbered[]): Promise<void> {
  const { network, cloud, host, checks, note } = stage;
  const last = Math.max(0, ...steps.map(([, { at }]) => at));
  const hasFailed = () => stage.failure() !== null;
  await network.clock.until(hasFailed, last + faultyMs);
  await network.clock.until(hasFailed, network.clock.frozenMs());
  note("faults are over");
  for (const one of [network, cloud, host]) one.calm();
  await settle(stage, "it does not settle", () => checks.unsettled().length === 0);
  // Whoever could not be told is told again once it is heard.
  await network.clock.until(() => stage.failure() !== null, 60_000);
  if (!hasFailed()) stage.guarded(() => checks.atEnd.idle(cloud.autostopOf));
  for (const { noun, name } of checks.live()) {
    const isService = noun === "service";
    const operation = isService ? "serve.down" : "down";
    const input = isService ? { service_names: [name] } : { cluster_name: name };
    call(stage, -1, { operation, user: "ann", input });
  }
  const isEmpty = () =>
    checks.unsettled().length + checks.live().length + cloud.clusterIds().length === 0;
  await settle(stage, "it is not taken down", isEmpty);
  if (stage.failure() === null) stage.guarded(() => checkEnd(stage, steps));
}

/** Runs until something is so, which only a commit can bring about. */
async function settle(stage: Stage, violation: string, isSo: () => boolean): Promise<void> {
  const { clock } = stage.network;
  const isStuck = () => clock.count() > tasksAtMost;
  let isDone = false;
  let hasLooked = false;
  const look = () => {
    if (stage.host.program() !== undefined && (stage.hasChanged() || !hasLooked)) {
      isDone = isSo();
      hasLooked = true;
    }
    return isDone || isStuck() || stage.failure() !== null;
  };
  const isOver = await clock.until(look, settlesWithinMs);
  if (isOver && !isStuck()) return;
  const isBack = stage.host.program() !== undefined;
  const machines = stage.cloud.clusterIds().map((id) => `machines of ${id}`);
  const why = isBack
    ? [...stage.checks.unsettled(), ...machines].join("; ")
    : "control is not back";
  stage.guarded(() => {
    throw new Violation(violation, why);
  });
}

function checkEnd({ checks, cloud, balancers, begun }: Stage, steps: readonly Numbered[]): void {
  checks.atEnd.requests();
  checks.atEnd.hooks(cloud.hooks);
  if (!steps.some(([, step]) => hurtsNodes(step))) checks.atEnd.nodesAreWell();
  if (cloud.clusterIds().length > 0) throw new Violation("machines are left");
  if (balancers.serviceIds().length > 0) throw new Violation("balancers are left");
  // Control cannot know what had begun on a node that was lost before it answered.
  if (steps.some(([, step]) => step.do === "lose node" || step.do === "preempt")) return;
  for (const [id, times] of begun)
    if (times > 1) throw new Violation("a job ran again", `${id}: ${times} times`);
}

/** Only users cancel jobs, or the requests that handed them in. */
function checkCancelled(submissionId: string, steps: readonly Numbered[]): void {
  const isWanted = ([, step]: Numbered) =>
    step.do === "cancel" || (step.do === "call" && step.operation === "cancel");
  if (!steps.some(isWanted)) throw new Violation("a job was cancelled", submissionId);
}

/** Does what a step says. */
async function take(stage: Stage, number: number, step: Step): Promise<void> {
  const { cloud, host, network, requests, note } = stage;
  note(`${number} ${JSON.stringify(step)}`);
  const idOf = (name: string) => stage.checks.clusterOf(name) ?? "";
  switch (step.do) {
    case "call":
      return call(stage, number, step);
    case "cancel": {
      const input = { request_ids: [requests.get(step.step)].filter((id) => id !== undefined) };
      return call(stage, number, { operation: "api_cancel", user: step.user, input });
    }
    case "idle":
      return cloud.becomeIdle(idOf(step.name));
    case "crash":
      return host.crash(step.statements, step.awayMs);
    case "restart":
      return network.clock.tell(() => void host.restart());
    case "trouble":
      return network.trouble(step.place, step.trouble, step.times);
    case "full":
      return cloud.fill(step.zone, step.forMs);
    case "cut off":
      return cloud.cutOff(idOf(step.name), step.rank, step.forMs);
    case "kill agent":
      return cloud.killAgent(idOf(step.name), step.rank);
    case "lose node":
      return cloud.loseNode(idOf(step.name), step.rank);
    case "preempt":
      return cloud.preempt(idOf(step.name), step.rank, step.inMs);
    case "fill disk":
      return host.fill(step.statements, step.forMs);
    case "step clock":
      return network.clock.step(step.whose, step.byMs);
    case "freeze":
      return network.clock.freeze(step.how, step.forMs);
    case "overtake":
      return host.overtake(step.forMs);
    case "slow node":
      return cloud.slowDown(idOf(step.name), step.rank, step.byMs, step.forMs);
    case "silence":
      return cloud.silence(idOf(step.name), step.rank, step.forMs);
    case "kill balancer":
      return stage.balancers.kill(stage.checks.serviceOf(step.name) ?? "");
  }
}

interface Wish {
  readonly operation: string;
  readonly user: string;
  readonly input: Record<string, unknown>;
}

const call = ({ network, ...stage }: Stage, number: number, wish: Wish): void =>
  network.clock.tell(() => void calling(stage, number, wish));

async function calling(
  { host, requests, note }: Omit<Stage, "network">,
  number: number,
  wish: Wish,
): Promise<void> {
  const program = host.program();
  if (program === undefined) return void note(`${number} ${wish.operation}: control is away`);
  try {
    const id = await program.call(wish.operation, wish.user, wish.input);
    requests.set(number, id);
    note(`${number} ${wish.operation} is ${id}`);
  } catch (error) {
    note(`${number} ${wish.operation}: ${error}`);
  }
}
