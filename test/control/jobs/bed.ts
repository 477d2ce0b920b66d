import assert from "node:assert/strict";
import type { GivenInputOf } from "../../../common/operation.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import type { ManagedJobStatus } from "../../../contract/statuses.ts";
import type { Cluster } from "../../../control/clusters/schema.ts";
import { findCluster } from "../../../control/clusters/store.ts";
import { listEvents } from "../../../control/events.ts";
import type { JobTask } from "../../../control/jobs/schema.ts";
import { listTasks } from "../../../control/jobs/store.ts";
import { nudge } from "../../../control/reconciler.ts";
import { until } from "../../helpers/agent.ts";
import type { FakeAgent } from "../../helpers/fake-agent.ts";
import type { FakeJob } from "../../helpers/fake-node.ts";
import { testWorld, type World, type WorldOptions } from "../../helpers/world.ts";

/** A managed job whose nodes do what a test says. */
export const train = "name: train\nrun: train";

/** The same with a policy for its recovery. */
export const withRecovery = (recovery: string): string =>
  `name: train\nresources: {job_recovery: ${recovery}}\nrun: train`;

/** A job of three tasks, one after the other. */
export const pipeline = `name: pipe
---
name: prep
run: prep
---
name: train
run: train
---
name: eval
run: eval`;

/** A job of two tasks side by side, with more in its header. */
export const group = (header = ""): string => `name: lab
execution: parallel
${header}
---
name: trainer
run: trainer
---
name: watcher
run: watcher`;

/** A managed job's first task by the number of the job, or another one by both. */
export type TaskRef = number | readonly [job: number, task: number];

/** A control plane with managed jobs. */
export interface JobBed {
  readonly world: World;
  launch(task?: string): Promise<number>;
  task(of: TaskRef): Promise<JobTask>;
  /** Waits until it has one of these statuses. */
  untilTask(of: TaskRef, ...statuses: ManagedJobStatus[]): Promise<JobTask>;
  /** Waits until it is so. */
  until(of: TaskRef, isSo: (task: JobTask) => boolean): Promise<JobTask>;
  /** Waits until an attempt runs. */
  untilAttempt(of: TaskRef, attempt: number): Promise<JobTask>;
  untilSettled(of: TaskRef): Promise<JobTask>;
  /** The cluster of its attempt. */
  cluster(of: TaskRef): Promise<Cluster>;
  agent(of: TaskRef, rank?: number): Promise<FakeAgent>;
  /** What the attempt runs on its cluster. */
  job(of: TaskRef): Promise<FakeJob>;
  /** Has it looked at, now. */
  look(of: TaskRef): Promise<void>;
  moves(of: TaskRef): Promise<string[]>;
  remarks(of: TaskRef): Promise<string[]>;
  /** The same after control was killed, and away for so long. */
  crash(awayMs?: number): Promise<JobBed>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

export const jobBed = async (t: Cleaner, options: WorldOptions = {}): Promise<JobBed> =>
  jobBedOf(await testWorld(t, options));

/** As `jobBed`, with a job that runs; its number is 1. */
export async function withJob(t: Cleaner, task = train, options?: WorldOptions): Promise<JobBed> {
  const bed = await jobBed(t, options);
  assert.equal(await bed.launch(task), 1);
  await bed.untilTask(1, "RUNNING");
  return bed;
}

/** What tests do with the managed jobs of a control plane. */
export function jobBedOf(world: World): JobBed {
  const { ctx, provider } = world;
  const eventsOf = async (id: TaskRef, kinds: readonly ("moves" | "remarks")[]) =>
    listEvents(ctx.db, "managed_job", (await bed.task(id)).id, { kinds, limit: 100 });
  const bed: JobBed = {
    world,
    async launch(task = train) {
      const { job_id } = await world.run(rows.launch, { task, name: null });
      return job_id?.[0] ?? assert.fail("no job was submitted");
    },
    async task(of) {
      const [id, number] = typeof of === "number" ? [of, 0] : of;
      const task = (await listTasks(ctx.db, [id]))[number];
      return task ?? assert.fail(`there is no task ${number} of managed job ${id}`);
    },
    until: (id, isSo) =>
      until(async () => {
        const task = await bed.task(id);
        return isSo(task) ? task : undefined;
      }),
    untilTask: (id, ...statuses) => bed.until(id, ({ status }) => statuses.includes(status)),
    untilAttempt: (id, attempt) =>
      bed.until(id, (task) => task.attempt === attempt && task.status === "RUNNING"),
    untilSettled: (id) => bed.until(id, ({ settledAt }) => settledAt !== null),
    async cluster(id) {
      const { clusterId } = await bed.task(id);
      return (
        (await findCluster(ctx.db, clusterId ?? "")) ?? assert.fail(`job ${id} has no cluster`)
      );
    },
    agent: async (id, rank = 0) => provider.agentOf((await bed.task(id)).clusterId ?? "", rank),
    async job(id) {
      const { clusterJob } = await bed.task(id);
      const { jobs } = (await bed.agent(id)).node;
      return jobs.find((one) => one.id === clusterJob) ?? assert.fail(`job ${id} runs nothing`);
    },
    look: async (id) => nudge(ctx, "managed_job", (await bed.task(id)).id),
    moves: async (id) => (await eventsOf(id, ["moves"])).map(({ from, to }) => `${from}>${to}`),
    remarks: async (id) => (await eventsOf(id, ["remarks"])).map(({ reason }) => reason),
    crash: async (awayMs) => jobBedOf(await world.crash(awayMs)),
  };
  return bed;
}

/** The node is silent: neither it nor its provider brings an agent back. */
export async function silence(bed: JobBed, rank = 0): Promise<void> {
  const { provider } = bed.world;
  provider.agentsStart = false;
  await provider.silence((await bed.task(1)).clusterId ?? "", rank);
}

type Given = GivenInputOf<typeof rows.logs>;

/** The log as a request prints it, and how that ends. */
export async function logOf({ world }: JobBed, input: Given) {
  const { text, headers } = await world.http("POST", "/jobs/logs", { body: input });
  const id = headers["x-skypilot-request-id"] ?? "";
  return { text, code: input.follow === false ? undefined : await world.get(rows.logs, id) };
}

/** Waits until control has copied so much of the log of job 1. */
export const untilCopied = (bed: JobBed, log: string) =>
  until(async () => (await logOf(bed, { job_id: 1, follow: false })).text === log || undefined);
