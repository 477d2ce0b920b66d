import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Violation } from "./checks.ts";
import { hurtsNodes, isCalm, type Step } from "./script.ts";
import { type Numbered, openStage, type Stage } from "./stage.ts";
import { call, collect, take } from "./take.ts";
import { longestWorkMs } from "./workloads.ts";

/** What came of a script. */
export interface Outcome {
  /** What was violated first; null where all went well. */
  readonly failure: Violation | null;
  /** What happened, a line each. */
  readonly trace: readonly string[];
  /** Two runs with the same hash were the same. */
  readonly hash: string;
}

/** Where scripts are played. */
export interface Places {
  /** For the homes of control. */
  readonly folder: string;
  /** What each home is a copy of. */
  readonly template: string;
  /** Has the database be as it was at the beginning. */
  reset(): void;
}

/** How long faults go on after the last step. */
const faultyMs = 20_000;
/**
 * Once they are over, everything becomes what is wanted within this time and what jobs may take; and what is
 * taken down too.
 */
const settlesWithinMs = 15 * 60_000;
/** Control is back within this time. */
const longestAwayMs = 11 * 3_600_000;
/** Longer than anything is kept that is over. */
const longMs = 40 * 86_400_000;
/** More than any run takes; one that takes as many goes in circles. */
const tasksAtMost = 150_000;

/** Plays steps against a control plane of its own. The same seed and steps give the same outcome. */
export async function play(
  seed: number,
  steps: readonly Numbered[],
  { folder, template, reset }: Places,
): Promise<Outcome> {
  const home = mkdtempSync(join(folder, "home-"));
  reset();
  cpSync(template, home, { recursive: true });
  const stage = openStage(seed, home, steps);
  const { network, host, trace } = stage;
  try {
    for (const [number, step] of steps)
      network.clock.after(step.at, () => void take(stage, number, step));
    host.start();
    await lead(stage, steps);
  } finally {
    await host.close();
    rmSync(home, { recursive: true, force: true });
  }
  const hash = createHash("sha256").update(trace.join("\n")).digest("hex");
  return { failure: stage.failure(), trace, hash };
}

/** Lets faults happen, then everything settle, then takes it all down; checks on the way. */
async function lead(stage: Stage, steps: readonly Numbered[]): Promise<void> {
  const { network, cloud, host, checks, note } = stage;
  const last = Math.max(0, ...steps.map(([, { at }]) => at));
  const hasFailed = () => stage.failure() !== null;
  await network.clock.until(hasFailed, last + faultyMs);
  await network.clock.until(hasFailed, network.clock.frozenMs());
  const isBack = () => hasFailed() || host.program() !== undefined;
  await network.clock.until(isBack, longestAwayMs);
  note("faults are over");
  for (const one of [network, cloud, host]) one.calm();
  await settle(
    stage,
    "it does not settle",
    () => unsettled(stage).length === 0,
    steps.reduce((ms, [, step]) => ms + longestWork(step), settlesWithinMs),
  );
  // Whoever could not be told is told again once it is heard.
  await network.clock.until(() => stage.failure() !== null, 60_000);
  if (!hasFailed()) stage.guarded(() => checks.atEnd.idle(cloud.autostopOf));
  for (const { noun, name } of checks.live())
    call(stage, -1, { user: "ann", ...downs[noun](name) });
  const isEmpty = () =>
    unsettled(stage).length + checks.live().length + cloud.clusterIds().length === 0;
  await settle(stage, "it is not taken down", isEmpty);
  if (!hasFailed()) stage.guarded(() => checkEnd(stage, steps));
  if (!hasFailed()) await forgetAll(stage);
}

/** As long as its copies take if one worker runs them all. */
function longestWork(step: Step): number {
  if (step.do !== "call" || step.operation !== "jobs.launch") return 0;
  const { task, num_jobs = 1 } = step.input;
  return longestWorkMs(String(task)) * Number(num_jobs);
}

const downs = {
  cluster: (name: string) => ({ operation: "down", input: { cluster_name: name } }),
  service: (name: string) => ({ operation: "serve.down", input: { service_names: [name] } }),
  pool: (name: string) => ({ operation: "jobs.pool_down", input: { pool_names: [name] } }),
};

const unsettled = ({ checks, reads, calls }: Stage): string[] => [
  ...checks.unsettled(),
  ...reads.unended(),
  ...[...calls].flatMap(({ process }) => (process.isAlive ? ["a call has no answer"] : [])),
];

/** Once everything is over, and that long ago, nothing of it is kept. */
async function forgetAll(stage: Stage): Promise<void> {
  const { network, checks, guarded, failure } = stage;
  let isDone = false;
  network.clock.step("control", longMs);
  collect(stage, () => {
    isDone = true;
  });
  await network.clock.until(() => isDone || failure() !== null, network.clock.frozenMs() + 60_000);
  guarded(() => checks.forgotten());
}

/** Runs until something is so, which only a commit can bring about. */
async function settle(
  stage: Stage,
  violation: string,
  isSo: () => boolean,
  withinMs = settlesWithinMs,
): Promise<void> {
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
  const isOver = await clock.until(look, withinMs);
  if (isOver && !isStuck()) return;
  const isBack = stage.host.program() !== undefined;
  const machines = stage.cloud.clusterIds().map((id) => `machines of ${id}`);
  const why = isBack ? [...unsettled(stage), ...machines].join("; ") : "control is not back";
  stage.guarded(() => {
    throw new Violation(violation, why);
  });
}

function checkEnd(
  { checks, cloud, balancers, begun, brokenIds, repeated }: Stage,
  steps: readonly Numbered[],
): void {
  checks.atEnd.requests();
  checks.atEnd.hooks(cloud.hooks);
  if (!steps.some(([, step]) => hurtsNodes(step))) checks.atEnd.nodesAreWell(brokenIds);
  if (cloud.clusterIds().length > 0) throw new Violation("machines are left");
  if (balancers.serviceIds().length > 0) throw new Violation("balancers are left");
  if (repeated.length > 0 && steps.every(([, step]) => isCalm(step)))
    throw new Violation("what is so already is asked for", repeated.join("; "));
  // Control cannot know what had begun on a node that was lost before it answered.
  if (steps.some(([, step]) => step.do === "lose node" || step.do === "preempt")) return;
  for (const [id, times] of begun)
    if (times > 1) throw new Violation("a job ran again", `${id}: ${times} times`);
}
