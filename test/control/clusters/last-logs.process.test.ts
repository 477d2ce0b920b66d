import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { GivenInputOf } from "../../../common/operation.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { belowDownloads, downloadsOf } from "../../../control/downloads.ts";
import { controlLine } from "../../../control/wire/control-lines.ts";
import { testWorld, type World, type WorldOptions } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };

/** A cluster with two jobs that have ended, the second one in failure. */
async function withJobs(
  t: Parameters<typeof testWorld>[0],
  options: WorldOptions = {},
): Promise<World> {
  const world = await testWorld(t, options);
  await world.run(rows.launch, { ...name, task: "run: one" });
  await world.run(rows.exec, { ...name, task: "run: two" });
  const agent = world.provider.agentOf((await world.cluster("demo")).id);
  agent.print(1, "first\n");
  agent.print(2, "a\nb\nc\n");
  agent.end(1, "SUCCEEDED");
  agent.end(2, "FAILED");
  return world;
}

/** The log as our own client reads it, and how that ends. */
async function logOf(world: World, given: Partial<GivenInputOf<typeof rows.logs>> = {}) {
  const body = { ...name, job_id: null, ...given };
  const answer = await world.http("POST", "/logs", { body });
  const id = answer.headers["x-skypilot-request-id"] ?? "";
  return { text: answer.text, code: await world.get(rows.logs, id) };
}

const source = (job: number, status: string, because: string): string =>
  controlLine(
    "rich_update",
    `Job ${job}: the copy of its log from when cluster demo became ${status} (${because})`,
  );

test("the logs of a stopped cluster stay readable, and say where they come from", async (t) => {
  const world = await withJobs(t);
  await world.run(rows.stop, name);

  const latest = await logOf(world);

  const said = source(2, "STOPPED", "stop by local");
  assert.deepEqual(latest, { text: `${said}a\nb\nc\n`, code: 100 });
  assert.equal((await logOf(world, { tail: 2 })).text, `${said}b\nc\n`);
  assert.deepEqual(await logOf(world, { job_id: 1, follow: true }), {
    ...{ text: `${source(1, "STOPPED", "stop by local")}first\n`, code: 0 },
  });
});

test("a stopped cluster still tells of its jobs, and hands out the ends of their logs", async (t) => {
  const world = await withJobs(t);
  await world.run(rows.stop, name);
  const queue = await world.call(rows.queue, { ...name, skip_finished: false, all_users: true });

  const jobs = await world.get(rows.queue, queue);

  assert.deepEqual(
    jobs.map(({ job_id, status }) => [job_id, status]),
    [
      [2, "FAILED"],
      [1, "SUCCEEDED"],
    ],
  );
  assert.match(
    await world.printed(queue),
    /^cluster demo is STOPPED; these are its jobs as of 20/m,
  );
  assert.deepEqual(await world.run(rows.jobStatus, { ...name, job_ids: null }), { 2: "FAILED" });
  assert.deepEqual(await world.run(rows.jobStatus, { ...name, job_ids: [1, 7] }), {
    ...{ 1: "SUCCEEDED", 7: null },
  });
  const { 2: place = "" } = await world.run(rows.downloadLogs, { ...name, job_ids: null });
  const folder = join(downloadsOf(world.ctx, "local"), belowDownloads(place) ?? "");
  assert.equal(readFileSync(join(folder, "run.log"), "utf8"), "a\nb\nc\n");
  await assert.rejects(world.run(rows.downloadLogs, { ...name, job_ids: ["7"] }), {
    type: "ClusterNotUpError",
  });
});

test("so do those of a cluster that was taken down, until another one has its name", async (t) => {
  const world = await withJobs(t);
  await world.run(rows.down, name);
  const { text } = await logOf(world);

  await world.run(rows.launch, { ...name, task: "run: one" });
  const agent = world.provider.agentOf((await world.cluster("demo")).id);
  agent.print(1, "anew\n");
  agent.end(1, "SUCCEEDED");

  assert.equal(text, `${source(2, "GONE", "down by local")}a\nb\nc\n`);
  assert.match((await logOf(world)).text, /anew\n/);
  await assert.rejects(logOf(world, { cluster_name: "other" }), { type: "ClusterDoesNotExist" });
});

test("of each log so many last lines are copied as the settings say, and of so many jobs", async (t) => {
  const world = await withJobs(t, { config: { lastLogJobs: 1, lastLogLines: 2 } });
  await world.run(rows.stop, name);

  const latest = await logOf(world);

  assert.match(latest.text, /\n\[.* left out here\]\nb\nc\n$/);
  await assert.rejects(logOf(world, { job_id: 1 }), {
    type: "ClusterNotUpError",
    message: /jobs and their logs are on its nodes; start it to read them/,
  });
});

test("a cluster that is started again has its own logs", async (t) => {
  const world = await withJobs(t);
  await world.run(rows.stop, name);
  await world.run(rows.start, name);

  const { text } = await logOf(world);

  assert.doesNotMatch(text, /the copy of its log/);
  assert.match(text, /a\nb\nc\n/);
});
