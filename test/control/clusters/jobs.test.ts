import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { controlLine } from "../../../control/wire/control-lines.ts";
import { text } from "../../helpers/agent.ts";
import { type Calls, testWorld, type WorldOptions } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };
const demo = { ...name, task: "run: echo hi" };

/** A world with a cluster that is up and has one job. */
async function withCluster(t: TestContext, more: object = {}, options: WorldOptions = {}) {
  const world = await testWorld(t, options);
  await world.run(rows.launch, { ...demo, ...more });
  const { id } = await world.cluster("demo");
  return { world, id, agent: () => world.provider.agentOf(id) };
}

test("exec runs a task without its setup", async (t) => {
  const { world, agent } = await withCluster(t);

  const task = "{setup: prepare, run: work, envs: {A: b}, secrets: {KEY: s3cret}}";
  const { job_id: id } = await world.run(rows.exec, { ...name, task });

  const { setup, run, env, secrets } = agent().node.jobs[1]?.submission ?? {};
  assert.equal(id, 2);
  assert.deepEqual(
    { setup, run, env, secrets },
    {
      setup: null,
      run: "work",
      env: { A: "b" },
      secrets: { KEY: "s3cret" },
    },
  );
});

test("exec waits for a launch that is under way", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const launching = world.run(rows.launch, demo);
  await world.provider.held("create");

  const id = await world.call(rows.exec, demo);
  await world.untilNote(id, /waits until cluster demo is UP/);
  release();
  await launching;

  assert.ok((await world.get(rows.exec, id)).job_id);
});

test("exec is refused what the cluster has not", async (t) => {
  const { world } = await withCluster(t);

  for (const asked of ["num_nodes: 2", "resources: {accelerators: A100}", "resources: {cpus: 999}"])
    await assert.rejects(world.run(rows.exec, { ...name, task: `{${asked}, run: 'true'}` }), {
      type: "ResourcesMismatchError",
    });
});

test("exec with down has the cluster go once it is idle", async (t) => {
  const { world, agent } = await withCluster(t);

  await world.run(rows.exec, { ...demo, down: true });

  assert.deepEqual(agent().node.autostop, { idleMs: 0, down: true, waitFor: "jobs" });
});

test("a task is handed to the head once, however often control starts again", async (t) => {
  const { world, id } = await withCluster(t);
  await world.provider.silence(id, 0);
  const call = await world.call(rows.exec, demo);

  const after = await world.crash();
  await after.look("demo");

  assert.equal((await after.get(rows.exec, call)).job_id, 2);
  assert.equal(after.provider.agentOf(id).node.jobs.length, 2);
});

test("the queue lists jobs, newest first, by user and by whether they ended", async (t) => {
  const { world, agent } = await withCluster(t);
  const ann = await world.as("ann");
  await ann.run(rows.exec, demo);
  agent().end(1, "SUCCEEDED");
  const ids = async (more: object, { run }: Pick<Calls, "run"> = world) =>
    (await run(rows.queue, { ...name, ...more })).map((job) => job.job_id);

  assert.deepEqual(await ids({ all_users: true }), [2, 1]);
  assert.deepEqual(await ids({ all_users: true, skip_finished: true }), [2]);
  assert.deepEqual(await ids({}, ann), [2]);
  assert.deepEqual(await ids({}, await world.as("ben")), []);
  assert.deepEqual(await ids({}), [2, 1]);
});

test("job_status answers by id; null is the latest, unknown is null", async (t) => {
  const { world, agent } = await withCluster(t);
  await world.run(rows.exec, demo);
  agent().end(1, "FAILED");
  const statuses = (job_ids: number[] | null) => world.run(rows.jobStatus, { ...name, job_ids });

  assert.deepEqual(await statuses([1, 2, 7, -1]), {
    1: "FAILED",
    2: "RUNNING",
    7: null,
    "-1": null,
  });
  assert.deepEqual(await statuses(null), { 2: "RUNNING" });
});

test("job_status of a cluster without jobs says so", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task: "resources: {}" });

  await assert.rejects(world.run(rows.jobStatus, { ...name, job_ids: null }), {
    type: "JobNotFoundError",
  });
});

test("cancel ends the jobs that are named", async (t) => {
  const { world, agent } = await withCluster(t);
  await world.run(rows.exec, demo);

  const id = await world.call(rows.cancel, { ...name, job_ids: [1] });
  await world.get(rows.cancel, id);

  assert.deepEqual(
    agent().node.jobs.map(({ status }) => status),
    ["CANCELLED", "RUNNING"],
  );
  assert.match(await world.printed(id), /Job 1 is CANCELLED/);
});

test("cancel without names ends the caller's latest, with all all of theirs", async (t) => {
  const { world, agent } = await withCluster(t);
  const ann = await world.as("ann");
  for (const caller of [ann, ann, world]) await caller.run(rows.exec, demo);
  const statuses = () => agent().node.jobs.map(({ status }) => status);

  await ann.run(rows.cancel, { ...name, job_ids: null });
  assert.deepEqual(statuses(), ["RUNNING", "RUNNING", "CANCELLED", "RUNNING"]);
  await ann.run(rows.cancel, { ...name, job_ids: null, all: true });
  assert.deepEqual(statuses(), ["RUNNING", "CANCELLED", "CANCELLED", "RUNNING"]);
  await world.run(rows.cancel, { ...name, job_ids: null, all_users: true });
  assert.deepEqual(statuses(), ["CANCELLED", "CANCELLED", "CANCELLED", "CANCELLED"]);
});

test("cancel of a job that is not there ends none", async (t) => {
  const { world, agent } = await withCluster(t);

  for (const job_ids of [[1, 9], [9], [-1], [0]])
    await assert.rejects(world.run(rows.cancel, { ...name, job_ids }), {
      type: "JobNotFoundError",
      message: `cluster demo has no job ${job_ids.at(-1)}; list them with: outrigger queue`,
    });
  await assert.rejects(world.run(rows.cancel, { ...name, job_ids: [1], all: true }), {
    type: "ValueError",
  });

  assert.equal(agent().node.jobs[0]?.status, "RUNNING");
});

const follow = (world: Awaited<ReturnType<typeof testWorld>>, more: object = {}) =>
  world.open("POST", "/logs", { body: { ...name, job_id: 1, ...more } });

test("a log says when its lines began, also where it is read on", async (t) => {
  const { world, agent } = await withCluster(t);
  const at = (second: number) => Date.UTC(2026, 0, 31, 12, 0, second);
  agent().print(1, "one\n", at(0));
  agent().print(1, "two\n", at(5));
  agent().end(1, "SUCCEEDED");
  const read = async (more: object) => {
    const { headers, body } = await follow(world, { timestamps: true, ...more });
    return [headers["log-offset"], await text(body)];
  };
  const said = (second: number) => controlLine("instant", new Date(at(second)).toISOString());

  assert.deepEqual(await read({}), ["0", `${said(0)}one\n${said(5)}two\n`]);
  assert.deepEqual(await read({ offset: 4 }), ["4", `${said(5)}two\n`]);
  assert.deepEqual(await read({ offset: 2 }), ["2", `e\n${said(5)}two\n`]);
  assert.deepEqual(await read({ timestamps: false }), ["0", "one\ntwo\n"]);
});

test("a followed log brings every byte, and its request the exit code", async (t) => {
  const { world, agent } = await withCluster(t);
  agent().print(1, "one\n");

  const { status, headers, body } = await follow(world);
  const chunks: string[] = [];
  for await (const chunk of body) {
    chunks.push(String(chunk));
    if (chunks.length === 1) agent().print(1, "two\n");
    else agent().end(1, "SUCCEEDED");
  }

  assert.equal(status, 200);
  assert.equal(chunks.join(""), "one\ntwo\n");
  assert.equal(await world.get(rows.logs, headers["x-skypilot-request-id"] ?? ""), 0);
});

test("the exit code of a log tells how the job fared", async (t) => {
  const cases = { SUCCEEDED: 0, FAILED: 100, FAILED_SETUP: 100, CANCELLED: 103, RUNNING: 101 };
  const { world, agent } = await withCluster(t);
  for (const [status, code] of Object.entries(cases)) {
    const { job_id: id } = await world.run(rows.exec, demo);
    agent().end(id as number, status as "FAILED");
    const { headers, body } = await follow(world, { job_id: id, follow: false });
    for await (const _ of body);

    assert.equal(await world.get(rows.logs, headers["x-skypilot-request-id"] ?? ""), code, status);
  }
});

test("the log of a job that is not there says so, with a code of its own", async (t) => {
  const { world } = await withCluster(t);

  const answer = await world.http("POST", "/logs", { body: { ...name, job_id: 9 } });

  assert.match(answer.text, /cluster demo has no job 9/);
  assert.equal(await world.get(rows.logs, answer.headers["x-skypilot-request-id"] ?? ""), 102);
});

test("the log of a cluster that is not there ends with the error", async (t) => {
  const world = await testWorld(t);

  const answer = await world.http("POST", "/logs", { body: { ...name, job_id: null } });

  assert.equal(answer.status, 200);
  await assert.rejects(world.get(rows.logs, answer.headers["x-skypilot-request-id"] ?? ""), {
    type: "ClusterDoesNotExist",
  });
});

test("a client that hangs up ends its log request, and the agent's stream with it", async (t) => {
  const { world, agent } = await withCluster(t);
  agent().print(1, "one\n");
  const abort = new AbortController();
  const { headers, body } = await world.open("POST", "/logs", {
    body: { ...name, job_id: 1 },
    signal: abort.signal,
  });
  await assert.rejects(async () => {
    for await (const _ of body) abort.abort();
  });

  await assert.rejects(world.get(rows.logs, headers["x-skypilot-request-id"] ?? ""), {
    type: "RequestCancelled",
  });
});

test("a log request that is cancelled ends its stream", async (t) => {
  const { world, agent } = await withCluster(t);
  agent().print(1, "one\n");
  const { headers, body } = await follow(world);
  const id = headers["x-skypilot-request-id"] ?? "";
  const ended = (async () => {
    for await (const _ of body);
  })();

  assert.deepEqual(await world.cancel(id), [id]);

  await ended;
  await assert.rejects(world.get(rows.logs, id), { type: "RequestCancelled" });
});

test("a followed log goes on where it was once an agent is back", async (t) => {
  const { world, id, agent } = await withCluster(t);
  agent().print(1, "one\n");
  const { body } = await follow(world);
  const chunks: string[] = [];
  for await (const chunk of body) {
    chunks.push(String(chunk));
    if (chunks.length > 1) continue;
    await world.provider.silence(id, 0);
    await world.look("demo");
    agent().print(1, "two\n");
    agent().end(1, "SUCCEEDED");
  }

  assert.equal(chunks.join(""), "one\ntwo\n");
});

test("a followed log ends soon when its cluster is taken down", async (t) => {
  const { world, agent } = await withCluster(t);
  agent().print(1, "one\n");
  const { body } = await follow(world);
  const read = (async () => {
    for await (const _ of body);
  })();

  await world.run(rows.down, name);

  await read;
});
