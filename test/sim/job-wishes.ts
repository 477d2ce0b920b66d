import { readEnv } from "../../common/product.ts";
import type { JobRecovery } from "../../contract/task/job-recovery.ts";
import { usualRecovery } from "../../control/jobs/recovery.ts";
import type { FakeJob } from "../helpers/fake-node.ts";
import { aShare, cpusName } from "./pool-wishes.ts";
import { openRandom, type Random } from "./random.ts";
import type { Step, Undated } from "./script.ts";

/** What users want of managed jobs, and what they read of them. */

/** The first ones are there most often. */
const aNumber = (random: Random): number => random.between(1, random.pick([1, 2, 4]));

/** The cluster of a job, however it is called. */
export const aJobCluster = (random: Random): string => `job ${aNumber(random)}`;

/** What takes a cluster from a job, or its agent for a while. */
export function aJobLoss(random: Random): Undated {
  const node = { name: aJobCluster(random), rank: random.pick([0, 0, 1]) };
  const awayMs = random.between(0, random.pick([2_000, 30_000, 120_000]));
  return random.pick<() => Undated>([
    () => ({ do: "lose node", ...node }),
    () => aPreemption(random, node),
    () => aPreemption(random, node),
    () => ({ do: "reboot", ...node, awayMs }),
    () => ({ do: "kill agent", ...node, awayMs }),
    () => ({ do: "silence", ...node, forMs: random.between(5_000, 60_000) }),
    () => anIsolation(random, node),
  ])();
}

/** For shorter than leases are, or for longer. */
const anIsolation = (random: Random, node: { readonly name: string; readonly rank: number }) => ({
  ...{ do: "isolate" as const, ...node },
  forMs: random.between(5_000, random.pick([10_000, 60_000])),
});

/** A job with a lease that runs for long enough to lose it, and what may have it do so. */
export function aLeasedJob(random: Random, user: string): Step[] {
  const recovery = { ...usualRecovery, leaseSeconds: random.pick([10, 10, 30]) };
  const nodes = random.pick([1, 1, 2]);
  const task = jobOf("leased", recovery, {}, [`num_nodes: ${nodes}`, "run: sleep 80"]);
  const node = { name: "job 1", rank: random.between(0, nodes - 1) };
  return [
    { at: 0, do: "call", user, operation: "jobs.launch", input: { name: null, task } },
    { at: random.between(10_000, 30_000), ...anIsolation(random, node) },
  ];
}

/** Of a few seeds: control is away for ten hours while a job runs, which ends just before it is back, or soon after. */
export function absenceOf(seed: number): Step[] | undefined {
  const random = openRandom(seed, "absence");
  if (!random.chance(0.02)) return undefined;
  const awayMs = 36_000_000;
  const seconds = awayMs / 1_000 + random.pick([-60, 120]);
  const task = jobOf("long", usualRecovery, {}, [
    `num_nodes: ${random.between(1, 2)}`,
    `run: sleep ${seconds}`,
  ]);
  const at = random.between(20_000, 40_000);
  return [
    { at: 0, do: "call", user: "ann", operation: "jobs.launch", input: { name: null, task } },
    { at, do: "crash", statements: random.between(0, 20), awayMs },
  ];
}

/** What runs there ends with the notice, or some time after it. */
function aPreemption(
  random: Random,
  node: { readonly name: string; readonly rank: number },
): Undated {
  const inMs = random.between(0, 30_000);
  return { do: "preempt", ...node, inMs, endsJobsInMs: random.pick([0, inMs / 2]) };
}

export function aJobWish(
  random: Random,
  user: string,
  name: string,
  pools: readonly string[],
): Undated {
  const cancel = (which: Record<string, unknown>): Undated => ({
    ...{ do: "call", user, operation: "jobs.cancel" },
    input: which,
  });
  return random.pick<() => Undated>([
    ...[0, 1, 2].map(() => () => aJobLaunch(random, user, name, pools)),
    () => cancel({ job_ids: [aNumber(random)] }),
    () => cancel({ job_ids: [aNumber(random)] }),
    () => cancel({ name }),
    () => cancel({ all_users: true }),
    () => ({ do: "cancel", user, step: 0 }),
  ])();
}

export function aJobRead(random: Random, user: string, name: string): Undated {
  const read = (operation: string, input: Record<string, unknown>): Undated => ({
    ...{ do: "read", user, operation: `jobs.${operation}`, name, input },
  });
  const listed = { skip_finished: random.chance(0.5), all_users: true };
  const logged = { job_id: aNumber(random), follow: random.chance(0.7) };
  return random.pick<() => Undated>([
    () => read("queue", listed),
    () => read("queue_v2", { ...listed, ...(random.chance(0.5) && { name_match: name }) }),
    ...[0, 1].map(() => () => read("logs", { ...logged, controller: random.chance(0.2) })),
  ])();
}

/** One task, a pipeline, or a group; now and then several copies. Groups have clusters of their own. */
export function aJobLaunch(
  random: Random,
  user: string,
  name: string,
  pools: readonly string[],
): Undated {
  const kind = random.pick(["task", "task", "task", "pipeline", "group"]);
  const isOnWorker = kind !== "group" && pools.length > 0 && random.chance(0.7);
  const priority = random.pick([0, 0, 0, 5, -5]);
  const task = (called: string) => aTask(random, called, priority, isOnWorker);
  const input = {
    name: null,
    task: kind === "task" ? task(name) : aSequence(random, name, kind, task),
    ...(isOnWorker && { pool: random.pick(pools) }),
    ...(random.chance(isOnWorker ? 0.4 : 0.15) && { num_jobs: isOnWorker ? 4 : 2 }),
  };
  return { do: "call", user, operation: "jobs.launch", input };
}

/** Several tasks. What is not primary in a group does not end by itself. */
function aSequence(
  random: Random,
  name: string,
  kind: string,
  task: (called: string) => string,
): string {
  const tasks = Array.from({ length: random.between(2, 3) }, (_, at) => task(`${name}-${at}`));
  if (kind === "pipeline") return [`name: ${name}\n`, ...tasks].join("---\n");
  const header = `name: ${name}\nexecution: parallel\n`;
  if (random.chance(0.5)) return [header, ...tasks].join("---\n");
  const primary = `primary_tasks: [${name}-0]\ntermination_delay: ${random.between(0, 20)}s\n`;
  const [first = "", ...others] = tasks;
  const endless = others.map((text) => text.replace(/^run: .*$/m, "run: serve well"));
  return [header + primary, first, ...endless].join("---\n");
}

const codes = [3, 7];
const recoveryName = "RECOVERY";

/** A task that ends by itself, at the latest where it fails no more. */
function aTask(random: Random, name: string, priority: number, isOnWorker: boolean): string {
  const recovery: JobRecovery = {
    strategy: random.pick(["FAILOVER", "EAGER_NEXT_REGION", "EAGER_NEXT_REGION", "none"]),
    maxRestartsOnErrors: random.pick([0, 0, 1, 2]),
    recoverOnExitCodes: random.pick([[], [], [3], codes]),
    leaseSeconds: isOnWorker ? null : random.pick([null, null, 10, 30]),
  };
  const hook = `{run: sleep ${random.between(1, 20)}, events: [preemption, down], timeout: 30}`;
  const asked = { priority, ...(isOnWorker && aShare(random)) };
  return jobOf(name, recovery, asked, [
    `num_nodes: ${isOnWorker ? 1 : random.pick([1, 1, 1, 2])}`,
    `run: ${aRun(random)}`,
    ...(random.chance(0.4) ? [`event_callback: ${aCallback(random)}`] : []),
    ...(!isOnWorker && random.chance(0.7) ? [`config: {hooks: [${hook}]}`] : []),
  ]);
}

/** The task of a job; its nodes know as well how it is recovered, and what it takes of a worker. */
export function jobOf(
  name: string,
  recovery: JobRecovery,
  resources: Readonly<Record<string, number>>,
  lines: readonly string[],
): string {
  const policy = {
    strategy: recovery.strategy,
    max_restarts_on_errors: recovery.maxRestartsOnErrors,
    recover_on_exit_codes: recovery.recoverOnExitCodes,
    ...(recovery.leaseSeconds !== null && { lease: `${recovery.leaseSeconds}s` }),
  };
  const env = { [recoveryName]: JSON.stringify(recovery), [cpusName]: `${resources["cpus"] ?? 0}` };
  return [
    `name: ${name}`,
    `resources: ${JSON.stringify({ job_recovery: policy, ...resources })}`,
    `envs: ${JSON.stringify(env)}`,
    ...lines,
    "",
  ].join("\n");
}

const aCallback = (random: Random): string =>
  `callback ${random.pick([0, 1, 5, 20])} exits ${random.pick([0, 0, 1])}`;

function aRun(random: Random): string {
  const seconds = random.chance(0.2) ? random.between(40, 90) : random.between(1, 30);
  if (random.chance(0.5)) return `sleep ${seconds}`;
  const times = random.between(1, 4);
  return `exit ${random.pick([1, ...codes])} after ${seconds} times ${times}`;
}

/** How the job on a node is recovered. */
export const recoveryOf = ({ submission }: Pick<FakeJob, "submission">): JobRecovery =>
  JSON.parse(submission.env[recoveryName] ?? "{}");

/** A variable that a job sees; undefined where it is not one of a managed job. */
export const variableOf = (
  { submission: { env } }: Pick<FakeJob, "submission">,
  name: "TASK_ID" | "MANAGED_JOB_ID" | "RECOVERY_COUNT",
): string | undefined => readEnv(env, name);
