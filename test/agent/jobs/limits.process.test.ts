import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { findGroupPlaces } from "../../../agent/control-groups.ts";
import { findProcess } from "../../../common/process-tree.ts";
import { listNodeGroups } from "../../../control/doors/node-groups.ts";
import { startAgent, type TestAgent, until } from "../../helpers/agent.ts";

const places = findGroupPlaces();
const skip = places.length === 0 ? "this account may make no control groups here" : false;
const skipFor = (controller: string) =>
  places.some(({ controllers }) => controllers.includes(controller))
    ? false
    : `this account may make no control groups with ${controller} here`;
const fixture = (name: string) => join(import.meta.dirname, "../../fixtures", name);
const agent = await startAgent({ after }, { cpus: 8 });

/** Starts a job and what hides from it; answers the job and the pid of the latter. */
async function hide(node: TestAgent, name: string) {
  const ready = join(node.home, name);
  const { id } = await node.submit(`${fixture("hides")} ${ready}; sleep 1000`);
  const pid = await until(
    () => (existsSync(ready) && Number(readFileSync(ready, "utf8"))) || undefined,
  );
  return { id, pid };
}
const liveGroups = () => listNodeGroups(agent.home).filter((group) => existsSync(group));

test("what left session, group and environment ends with its job, and so does the control group", {
  skip,
}, async () => {
  const { id, pid } = await hide(agent, "hidden");
  assert.equal(findProcess(pid)?.alive, true);
  assert.ok(liveGroups().length > 0);

  await agent.call("cancelJob", { id, graceMs: 50 });

  assert.notEqual(findProcess(pid)?.alive, true);
  assert.deepEqual(liveGroups(), []);
});

test("an agent that was killed finds the control groups of its jobs again", { skip }, async () => {
  const { id, pid } = await hide(agent, "hidden-again");
  await agent.end("SIGKILL");
  await agent.start();
  await agent.call("cancelJob", { id, graceMs: 50 });

  assert.notEqual(findProcess(pid)?.alive, true);
  assert.deepEqual(liveGroups(), []);
});

test("a job that exceeds its memory fails and says so, and its neighbor goes on", {
  skip: skipFor("memory"),
}, async () => {
  const neighbor = await agent.submit("sleep 1000");
  const limits = { memoryBytes: 64 * 2 ** 20 };
  const grow = 'x=$(head -c 1000000 /dev/zero | tr "\\0" a); while :; do x=$x$x; done';
  const { id } = await agent.submit(`bash -c '${grow}'; exit $?`, { limits });
  const job = await agent.untilJob(id);

  assert.equal(job.status, "FAILED");
  assert.match(job.reason ?? "", /; it exceeded its memory limit of 0\.06 GB and was killed$/);
  assert.equal((await agent.call("getJob", neighbor)).status, "RUNNING");
  await agent.call("cancelJob", { id: neighbor.id, graceMs: 0 });
  assert.deepEqual(liveGroups(), []);
});

test("a job that fails within its memory fails for its own reason", {
  skip: skipFor("memory"),
}, async () => {
  const { id } = await agent.submit("kill -9 $$", { limits: { memoryBytes: 2 ** 30 } });

  assert.doesNotMatch((await agent.untilJob(id)).reason ?? "", /its memory/);
});

test("a job has as many processes as it may, and no more", { skip: skipFor("pids") }, async () => {
  const limits = { processes: 16 };
  const run = "n=0; while [ $n -lt 40 ]; do sleep 1000 & n=$((n + 1)); echo $n; done";
  // Unlike bash, sh does not try again where it cannot fork.
  const { id } = await agent.submit(`sh -c '${run}'`, { limits });
  const job = await agent.untilJob(id);

  const started = (await agent.log(id)).match(/^\d+$/gm) ?? [];
  assert.equal(job.status, "FAILED");
  assert.ok(started.length > 5 && started.length < 16, `${started.length} were started`);
});

test("a job gets as much of the processors as it may", { skip: skipFor("cpu") }, async () => {
  const run = "end=$((SECONDS + 2)); while ((SECONDS < end)); do :; done; times";
  const { id } = await agent.submit(run, { limits: { cpus: 0.1 } });
  await agent.untilJob(id);

  const [, minutes, seconds] = /^(\d+)m([\d.]+)s/.exec(await agent.log(id)) ?? [];
  const used = Number(minutes) * 60 + Number(seconds);
  assert.ok(used < 0.5, `${used} s of processor time in 2 s`);
});
