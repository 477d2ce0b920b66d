import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Agent } from "../../agent/context.ts";
import {
  checkIdle,
  countActivity,
  countTurnOff,
  readIdle,
  setAutostop,
  watchIdle,
} from "../../agent/idle.ts";
import { cancelLifecycle, listLifecycles, putHooks } from "../../agent/lifecycles/lifecycles.ts";
import { findLifecycle, findOpenLifecycle, saveLifecycle } from "../../agent/lifecycles/store.ts";
import { Autostop } from "../../contract/agent-shapes.ts";
import { aSubmission, startAgent, type TestAgent, until } from "../helpers/agent.ts";
import { aWorld } from "./world.ts";

const minute = 60_000;

const after = (idleMs: number | null, waitFor: Autostop["waitFor"] = "jobs") =>
  Autostop.parse({ idleMs, waitFor });

/** Takes the stop that was begun back, as control does when somebody wants the cluster after all. */
function takeBack(world: Agent): string {
  const { id } = findOpenLifecycle(world) ?? assert.fail("no lifecycle is open");
  cancelLifecycle(world, id);
  return id;
}

/** What the events of kind `idle` say. */
const told = ({ journal }: Agent) =>
  journal.sql.all`SELECT status FROM events WHERE kind = 'idle' ORDER BY seq`.map(
    ({ status }) => status,
  );

test("a node that was idle for long enough begins to stop, once", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(5 * minute));
  pass(5 * minute - 1);
  assert.equal(checkIdle(world), 1);
  assert.equal(findOpenLifecycle(world), undefined);

  pass(1);
  checkIdle(world);
  pass(10 * minute);
  checkIdle(world);
  const [begun, ...more] = listLifecycles(world);
  assert.deepEqual(begun?.events, ["stop"]);
  assert.deepEqual([begun?.cause, begun?.because], ["idle", "idle for 5 min"]);
  assert.deepEqual(more, []);
  assert.equal(readIdle(world).stopsAt, null);
});

test("a node that turned itself off has its whole time once it is on, without a boot", async (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(5 * minute));
  pass(5 * minute);
  checkIdle(world);
  countTurnOff(world);
  takeBack(world);
  checkIdle(world);
  pass(60 * minute);

  watchIdle({ ...world, stopping: AbortSignal.abort() }).catch(() => {});
  assert.equal(checkIdle(world), 5 * minute);
  pass(minute);
  watchIdle({ ...world, stopping: AbortSignal.abort() }).catch(() => {});
  assert.equal(checkIdle(world), 4 * minute, "an agent that is started again changes nothing");
});

test("with autodown it begins to go for good", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, { ...after(minute), down: true });
  pass(minute);
  checkIdle(world);

  assert.deepEqual(findOpenLifecycle(world)?.events, ["down"]);
});

test("a jump of the wall clock changes nothing", (t) => {
  const { world, clock, pass } = aWorld(t);
  setAutostop(world, after(5 * minute));
  clock.wall += 24 * 60 * minute;
  assert.equal(checkIdle(world), 5 * minute);
  assert.equal(findOpenLifecycle(world), undefined);

  pass(minute);
  const { idleSince, stopsAt } = readIdle(world);
  assert.equal(idleSince, clock.wall - minute);
  assert.equal(stopsAt, clock.wall + 4 * minute);

  clock.wall -= 48 * 60 * minute;
  clock.monotonic += 4 * minute;
  checkIdle(world);
  assert.deepEqual(findOpenLifecycle(world)?.events, ["stop"]);
});

test("a job that is submitted starts the time again", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(minute));
  pass(minute - 1);
  countActivity(world);

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
  assert.equal(findOpenLifecycle(world)?.because, "idle");
});

test("a timer that is off never begins anything", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(null));
  pass(1_000 * minute);
  checkIdle(world);

  assert.equal(readIdle(world).stopsAt, null);
  assert.deepEqual(listLifecycles(world), []);
});

test("a stop that is taken back starts the time again, however long its hooks ran", (t) => {
  const { world, pass } = aWorld(t);
  setAutostop(world, after(minute));
  pass(minute);
  checkIdle(world);
  const first = findOpenLifecycle(world)?.id;
  checkIdle(world);
  pass(30 * minute);
  assert.equal(takeBack(world), first);

  assert.equal(checkIdle(world), minute);
  assert.equal(readIdle(world).idleSince, world.now());
  assert.deepEqual(told(world), ["BUSY", "IDLE"]);
  pass(minute);
  checkIdle(world);
  assert.notEqual(takeBack(world), first);
});

test("a hook that runs is named, and keeps the node awake until it ends", (t) => {
  const { world, pass } = aWorld(t);
  const hook = { run: "true", events: ["stop" as const], timeoutSeconds: 60 };
  putHooks(world, { version: "1", hooks: [hook, hook], env: {}, secrets: {} });
  setAutostop(world, after(minute, "none"));
  pass(minute);
  checkIdle(world);
  const open = findOpenLifecycle(world) ?? assert.fail("nothing began");
  const times = { startedAt: world.now(), startedMs: 0, endedAt: null, timeoutSeconds: 60 };
  const facts = { exitCode: null, reason: null, ending: null, logFrom: 0, ...times };
  const runs = [{ index: 1, event: "stop", status: "RUNNING", ...facts } as const];
  saveLifecycle(world, { ...open, runs });
  takeBack(world);

  assert.deepEqual(readIdle(world).keptAliveBy, ["hook 2 of 2 (stop)"]);
  assert.equal(readIdle(world).idleSince, null);
  pass(5 * minute);
  const ended = findLifecycle(world, open.id) ?? assert.fail("it is lost");
  saveLifecycle(world, { ...ended, isSettled: true });
  assert.equal(checkIdle(world), minute);
});

test("a job keeps its node awake; once it has ended the node begins to stop", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit("until [ -e ~/go ]; do sleep 0.05; done");
  await agent.untilJob(id, "RUNNING");
  const { keptAliveBy, stopsAt } = await agent.call("setAutostop", after(100));
  assert.deepEqual({ keptAliveBy, stopsAt }, { keptAliveBy: [`job ${id}`], stopsAt: null });
  assert.deepEqual(await agent.call("listLifecycles", {}), []);

  writeFileSync(join(agent.home, "go"), "");
  const begun = await untilIdle(agent);
  assert.deepEqual([begun.events, begun.cause], [["stop"], "idle"]);
});

test("a hard limit does not care about jobs", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit("sleep 1000");
  await agent.untilJob(id, "RUNNING");
  await agent.call("setAutostop", after(1, "none"));

  await untilIdle(agent);
});

test("a node that begins to stop takes no job until that is taken back", async (t) => {
  const agent = await startAgent(t);
  const known = aSubmission("true");
  const { id } = await agent.call("submit", known);
  await agent.untilJob(id, "SUCCEEDED");
  await agent.call("setAutostop", after(1));
  const begun = await untilIdle(agent);
  await agent.end("SIGKILL");
  await agent.start();

  await assert.rejects(agent.submit("true"), { name: "ConflictError", message: /idle/ });
  assert.equal((await agent.call("submit", known)).id, id);
  await agent.call("setAutostop", after(10 * minute));
  await agent.call("cancelLifecycle", begun);
  assert.equal((await agent.submit("true")).id, id + 1);
});

test("the time goes on when an agent restarts", async (t) => {
  const agent = await startAgent(t);
  /** The least of some answers: an agent that is held up between two clocks tells a later one. */
  const stopsAt = async () => {
    const looks = await Promise.all(Array.from({ length: 20 }, () => agent.call("getIdle", {})));
    return Math.min(...looks.map((look) => look.stopsAt ?? Infinity));
  };
  await agent.call("setAutostop", after(10 * minute));
  const before = await stopsAt();
  await agent.end("SIGKILL");
  await agent.start();
  const again = await stopsAt();

  assert.ok(Math.abs(again - before) < 50, `${before}, ${again}`);
});

/** Waits until the node begins to stop by itself. */
const untilIdle = (agent: TestAgent) =>
  until(async () => (await agent.call("listLifecycles", {}))[0]);
