import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { workspaceOperations as workspaces } from "../../../contract/operations/workspaces.ts";
import { aPool, withPool } from "../services/pools/bed.ts";
import { group, type JobBed, jobBed, pipeline, silence, type TaskRef, withJob } from "./bed.ts";

/** A task that waits, or will soon. */
type Waiting = readonly [bed: JobBed, of: TaskRef];

const notNow = new AppError("CloudError", "not now");
const limited = { config: { managedJobsAtMost: 1 } };
const oneLaunch = { config: { jobLaunchesAtOnce: 1 } };

/** What a task waits for, with what ends that, and what brings it there. */
const waits: Readonly<Record<string, (t: TestContext) => Promise<Waiting>>> = {
  "waits until there is a machine for it: nothing offers": async (t) => {
    const bed = await jobBed(t);
    bed.world.provider.offer = undefined;
    return [bed, await bed.launch()];
  },
  "waits until its workspace allows it: workspace default: ": async (t) => {
    const bed = await withJob(t);
    const config = { workspaces: { default: { limits: { clusters: 1 } } } };
    await bed.world.run(workspaces.updateConfig, { config });
    return [bed, await bed.launch()];
  },
  "waits until one of 1 managed jobs has ended, ": async (t) => {
    const bed = await withJob(t, undefined, limited);
    return [bed, await bed.launch()];
  },
  "waits until one of 1 managed jobs has its machine, ": async (t) => {
    const bed = await jobBed(t, oneLaunch);
    t.after(bed.world.provider.holds("create"));
    await bed.launch();
    await bed.world.provider.held("create");
    return [bed, await bed.launch()];
  },
  "waits for an idle worker of pool warm": async (t) => {
    const bed = await withPool(t, aPool("workers: 1"));
    await bed.untilTask(await bed.submit(), "RUNNING");
    return [bed, await bed.submit()];
  },
  "waits for task 0 (prep) to succeed": async (t) => {
    const bed = await jobBed(t);
    return [bed, [await bed.launch(pipeline), 1]];
  },
  "waits until task 1 (watcher) of its group has its cluster": async (t) => {
    const bed = await jobBed(t, { hasSpot: true });
    bed.world.provider.spotOffer = undefined;
    await bed.launch(group().replace("run: watcher", "resources: {use_spot: true}\nrun: watcher"));
    return [bed, [1, 0]];
  },
  "is cancelled at 20": async (t) => {
    const bed = await jobBed(t);
    await bed.launch(group("primary_tasks: [trainer]\ntermination_delay: {watcher: 10m}"));
    for (const number of [0, 1]) await bed.untilTask([1, number], "RUNNING");
    (await bed.agent([1, 0])).end(1, "SUCCEEDED");
    await bed.untilSettled([1, 0]);
    return [bed, [1, 1]];
  },
  "its machine does not respond; waits until it does, ": async (t) => {
    const bed = await withJob(t);
    bed.world.provider.fails("create", notNow);
    await silence(bed);
    return [bed, 1];
  },
  "waits until fake says whether its machine is there: ": async (t) => {
    const bed = await withJob(t);
    bed.world.provider.fails("list", notNow);
    await bed.world.provider.lose((await bed.task(1)).clusterId ?? "", 0);
    return [bed, 1];
  },
  "its next cluster waits until one of 1 managed jobs has its machine, ": async (t) => {
    const bed = await withJob(t, withHook, oneLaunch);
    t.after(bed.world.provider.holds("create"));
    await bed.launch();
    await bed.world.provider.held("create");
    await preempt(bed);
    return [bed, 1];
  },
  "its next cluster waits until it can be created: nothing offers": async (t) => {
    const bed = await withJob(t, withHook);
    bed.world.provider.offer = undefined;
    await preempt(bed);
    return [bed, 1];
  },
  "waits until its cluster is deleted": async (t) => {
    const bed = await withJob(t);
    t.after(bed.world.provider.holds("destroy"));
    await bed.world.run(rows.cancel, { job_ids: [1] });
    await bed.world.provider.held("destroy");
    bed.world.advance(10_000);
    return [bed, 1];
  },
  "waits until its cluster is deleted: not now": async (t) => {
    const bed = await withJob(t);
    bed.world.provider.fails("destroy", notNow);
    await bed.world.run(rows.cancel, { job_ids: [1] });
    return [bed, 1];
  },
  "waits until worker warm-1 has ended all ranks of it": async (t) => {
    const bed = await withPool(t, aPool("workers: 1"));
    await bed.untilTask(await bed.submit(), "RUNNING");
    // Another rank takes its time.
    Object.defineProperty(await bed.job(1), "status", { get: () => "RUNNING", set() {} });
    await bed.world.run(rows.cancel, { job_ids: [1] });
    return [bed, 1];
  },
  "waits until worker warm-1 answers, or is gone": async (t) => {
    const bed = await withPool(t, aPool("workers: 1"));
    await bed.untilTask(await bed.submit(), "RUNNING");
    await silence(bed);
    await bed.world.run(rows.cancel, { job_ids: [1] });
    return [bed, 1];
  },
  "waits to submit its task: not now": async (t) => {
    const bed = await withPool(t, aPool("workers: 1"));
    const refuse = (name: string) => {
      if (name === "submit") throw notNow;
    };
    for (const { node } of bed.world.provider.machines.values()) node.onCall = refuse;
    return [bed, await bed.submit()];
  },
};

const withHook = "name: train\nconfig: {hooks: [{run: save}]}\nrun: train";

async function preempt(bed: JobBed): Promise<void> {
  const agent = await bed.agent(1);
  agent.node.holdsHooks = true;
  agent.preempt("spot machine reclaimed");
}

for (const [words, begin] of Object.entries(waits))
  test(`the list, the events and explain say the same: ${words}`, async (t) => {
    const [bed, of] = await begin(t);
    await bed.look(of);
    const { waitsFor, job, number } = await bed.until(of, (task) => {
      void bed.look(of);
      return task.waitsFor?.startsWith(words) ?? false;
    });

    const { jobs } = await bed.world.run(rows.queueV2, { job_ids: [job.id], all_users: true });
    const events = await bed.world.run(rows.events, { job_id: job.id, task: number, limit: null });
    const { json } = await bed.world.http("GET", `/explain?name=${job.id}`);

    assert.equal(jobs[number]?.details, waitsFor);
    assert.ok(events.some(({ reason }) => reason === waitsFor));
    const doing = json["doing"] as string[];
    assert.ok(doing.some((text) => text.endsWith(waitsFor ?? "")));
  });
