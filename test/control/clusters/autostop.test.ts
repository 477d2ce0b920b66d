import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { JobSubmission } from "../../../contract/agent-shapes.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { aSubmission, until } from "../../helpers/agent.ts";
import { testWorld } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };
const demo = { ...name, task: "run: echo hi" };

/** A world with a cluster that is up. */
async function withCluster(t: TestContext, more: object = {}) {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...demo, ...more });
  const { id } = await world.cluster("demo");
  return { world, id, agent: () => world.provider.agentOf(id) };
}

test("autostop is kept, told to the head, and left alone by a launch that says nothing", async (t) => {
  const { world, agent } = await withCluster(t);
  const asked = { idleMs: 600_000, down: true, waitFor: "jobs" };

  await world.run(rows.autostop, { ...name, idle_minutes: 10, down: true, wait_for: "jobs" });
  assert.deepEqual(agent().node.autostop, asked);
  await world.run(rows.launch, demo);
  assert.deepEqual(agent().node.autostop, asked);

  const [record] = await world.run(rows.status, {});
  assert.deepEqual([record?.autostop, record?.to_down], [10, true]);
});

test("autostop is changed by a launch that mentions it, and cancelled by a negative one", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });

  await world.run(rows.launch, { ...demo, idle_minutes_to_autostop: 7 });
  assert.equal(agent().node.autostop.idleMs, 7 * 60_000);

  await world.run(rows.autostop, { ...name, idle_minutes: -1 });
  assert.equal(agent().node.autostop.idleMs, null);
  assert.equal((await world.run(rows.status, {}))[0]?.autostop, -1);
});

test("a cluster that was idle for long enough stops, and may be started again", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });

  agent().becomeIdle();
  await world.untilStatus("demo", "STOPPED");
  await world.run(rows.start, name);
  agent().print(1, "still here\n");

  assert.deepEqual(await world.moves("demo"), [
    "INIT>UP",
    "UP>AUTOSTOPPING",
    "AUTOSTOPPING>STOPPED",
    "STOPPED>INIT",
    "INIT>UP",
  ]);
  assert.equal(agent().node.due, false, "the timer that ran out begins anew");
  assert.equal(agent().node.autostop.idleMs, 5 * 60_000);
});

test("a job that arrives while an idle cluster is about to stop keeps it up", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });
  agent().end(1, "SUCCEEDED");
  agent().submitOnClaim(JobSubmission.parse(aSubmission("echo late")));

  agent().becomeIdle();
  const moves = await until(async () => {
    const found = await world.moves("demo");
    return found.length > 2 ? found : undefined;
  });

  assert.deepEqual(moves, ["INIT>UP", "UP>AUTOSTOPPING", "AUTOSTOPPING>UP"]);
  assert.equal(agent().node.jobs[1]?.status, "RUNNING");
});

test("an idle cluster that is about to stop takes no more jobs", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });
  const release = world.provider.holds("stop");
  agent().becomeIdle();
  await world.provider.held("stop");

  assert.equal(agent().node.claimed, true);
  release();
  await world.untilStatus("demo", "STOPPED");
  await world.run(rows.start, name);
  assert.equal(agent().node.claimed, false);
});

test("a cluster that is idle for long enough is taken down when that was asked", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5, down: true });

  agent().becomeIdle();

  await world.untilStatus("demo", "GONE");
  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>AUTOSTOPPING", "AUTOSTOPPING>GONE"]);
});

test("autostop that a start sets reaches the head although its agent kept another", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });
  await world.run(rows.stop, name);

  await world.run(rows.start, { ...name, idle_minutes_to_autostop: 60, down: true });

  assert.deepEqual(agent().node.autostop, {
    idleMs: 3_600_000,
    down: true,
    waitFor: "jobs_and_ssh",
  });
});
