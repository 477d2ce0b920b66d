import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readConfig } from "../../agent/config.ts";
import { type Agent, openAgent } from "../../agent/context.ts";
import { checkIdle, claimIdle, countActivity, readIdle, setAutostop } from "../../agent/idle.ts";
import { openLog } from "../../agent/log.ts";
import { Autostop } from "../../contract/agent-shapes.ts";
import { aSubmission, startAgent, until } from "../helpers/agent.ts";

const minute = 60_000;

/** The agent's world with hand-set clocks and nothing that runs. */
function aWorld(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "idle-"));
  const opened = openAgent(readConfig({ HOME: home }), openLog("error"), t.signal);
  const clock = { wall: Date.now(), monotonic: 5_000_000 };
  const world: Agent = { ...opened, now: () => clock.wall, monotonic: () => clock.monotonic };
  t.after(() => {
    opened.journal.db.close();
    rmSync(home, { recursive: true });
  });
  const pass = (ms: number) => {
    clock.wall += ms;
    clock.monotonic += ms;
  };
  return { world, clock, pass };
}

const after = (idleMs: number | null, waitFor: Autostop["waitFor"] = "jobs") =>
  Autostop.parse({ idleMs, waitFor });

test("a node is due once it was idle for long enough, and stays due", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(5 * minute));
  pass(5 * minute - 1);
  assert.equal(checkIdle(world), 1);
  assert.equal(readIdle(world).due, false);

  pass(1);
  checkIdle(world);
  assert.equal(readIdle(world).due, true);
});

test("a jump of the wall clock changes nothing", (t) => {
  const { world, clock, pass } = aWorld(t);
  setAutostop(world, after(5 * minute));
  clock.wall += 24 * 60 * minute;
  assert.equal(checkIdle(world), 5 * minute);

  pass(minute);
  const { idleSince, stopsAt } = readIdle(world);
  assert.equal(idleSince, clock.wall - minute);
  assert.equal(stopsAt, clock.wall + 4 * minute);
});

test("a job that is submitted starts the time again", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(minute));
  pass(minute);
  checkIdle(world);
  countActivity(world);

  assert.equal(readIdle(world).due, false);
  assert.equal(checkIdle(world), minute);
});

test("without patience a node waits ten seconds for its first job, then three after each", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(0));
  assert.equal(checkIdle(world), 10_000);

  countActivity(world);
  assert.equal(checkIdle(world), 3_000);
  pass(3_000);
  checkIdle(world);
  assert.equal(readIdle(world).due, true);
});

test("a timer that is off is never due", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(null));
  pass(1_000 * minute);
  checkIdle(world);

  const { due, stopsAt } = readIdle(world);
  assert.deepEqual({ due, stopsAt }, { due: false, stopsAt: null });
});

test("a job keeps its node awake, and an event says when the node is due", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit("until [ -e ~/go ]; do sleep 0.01; done");
  await agent.untilJob(id, "RUNNING");
  const { keptAliveBy, stopsAt } = await agent.call("setAutostop", after(1));
  assert.deepEqual({ keptAliveBy, stopsAt }, { keptAliveBy: [`job ${id}`], stopsAt: null });
  assert.equal((await agent.call("getIdle", {})).due, false);

  writeFileSync(join(agent.home, "go"), "");
  await until(async () => (await agent.call("getIdle", {})).due || undefined);
});

test("a hard limit does not care about jobs", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit("sleep 1000");
  await agent.untilJob(id, "RUNNING");
  await agent.call("setAutostop", after(1, "none"));

  await until(async () => (await agent.call("getIdle", {})).due || undefined);
});

test("a node that is due and claimed takes no job until its timer is set anew", async (t) => {
  const agent = await startAgent(t);
  const known = aSubmission("true");
  const { id } = await agent.call("submit", known);
  await agent.untilJob(id, "SUCCEEDED");
  await agent.call("setAutostop", after(1));
  await until(async () => (await agent.call("getIdle", {})).due || undefined);

  assert.equal((await agent.call("claimIdle", {})).due, true);
  await agent.end("SIGKILL");
  await agent.start();

  const refusal = { name: "ConflictError", message: /^the node is about to stop/ };
  await assert.rejects(agent.submit("true"), refusal);
  assert.equal((await agent.call("submit", known)).id, id);
  assert.equal((await agent.call("listJobs", {})).length, 1);

  await agent.call("setAutostop", after(10 * minute));
  assert.equal((await agent.submit("true")).id, id + 1);
});

test("a node that is not due cannot be claimed", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(minute));
  pass(minute);
  checkIdle(world);
  countActivity(world);

  assert.equal(claimIdle(world).due, false);
  countActivity(world);
});

test("a node stays due, and the time goes on, when its agent restarts", async (t) => {
  const agent = await startAgent(t);
  const { stopsAt } = await agent.call("setAutostop", after(10 * minute));
  await agent.end("SIGKILL");
  await agent.start();
  const again = await agent.call("getIdle", {});

  assert.ok(Math.abs(Number(again.stopsAt) - Number(stopsAt)) < 50);
});
