import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { findTree } from "../../common/process-tree.ts";
import { startAgent, startProcess, type TestAgent, text, until } from "../helpers/agent.ts";

/** A run that counts its starts, then waits for a file, and ends with 5. */
const waits = "echo started; until [ -e ~/go ]; do sleep 0.05; done; echo went; exit 5";
const letGo = (agent: TestAgent) => writeFileSync(join(agent.home, "go"), "");

test("a killed agent that comes back takes up running jobs, and queued ones go on", async (t) => {
  const agent = await startAgent(t, { cpus: 0.5 });
  const running = await agent.submit(waits);
  const queued = await agent.submit("echo second");
  await agent.untilJob(running.id, "RUNNING");
  await until(async () => (await agent.log(running.id)) === "started\n" || undefined);
  await agent.end("SIGKILL");
  await agent.start();
  assert.equal((await agent.call("getJob", running)).status, "RUNNING");
  const rest = agent.open("readLog", { id: running.id, offset: 8, follow: "true" });
  letGo(agent);
  const job = await agent.untilJob(running.id);

  assert.equal(job.status, "FAILED");
  assert.equal(job.exitCode, 5);
  assert.equal(await agent.log(running.id), "started\nwent\n");
  assert.equal(await text((await rest).body), "went\n");
  assert.equal((await agent.untilJob(queued.id)).status, "SUCCEEDED");
});

test("the exit code of a job that ended while no agent ran is not lost", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit(waits);
  await agent.untilJob(id, "RUNNING");
  await agent.end("SIGKILL");
  letGo(agent);
  const mark = `OUTRIGGER_JOB_FOLDER=${agent.home}/.outrigger/jobs/${id}`;
  await until(() => findTree({ roots: [], mark }).length === 0 || undefined);
  await agent.start();

  assert.equal((await agent.untilJob(id)).exitCode, 5);
});

test("an agent that is told to leave exits with 0 and leaves its jobs alone", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit(waits);
  await agent.untilJob(id, "RUNNING");
  assert.equal(await agent.end("SIGTERM"), 0);
  letGo(agent);
  await agent.start();

  assert.equal((await agent.untilJob(id)).exitCode, 5);
  assert.equal(await agent.log(id), "started\nwent\n");
});

test("a job that was cancelled when the agent died is CANCELLED once it is back", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit("trap '' TERM; touch ~/ready; while :; do sleep 0.1; done");
  await until(() => existsSync(join(agent.home, "ready")) || undefined);
  const cancelled = agent.call("cancelJob", { id, graceMs: 300 }).catch(() => {});
  await until(async () => {
    const [part] = await agent.call("listParts", { id });
    return part?.wanted === "end" || undefined;
  });
  await agent.end("SIGKILL");
  await cancelled;
  await agent.start();

  assert.equal((await agent.untilJob(id)).status, "CANCELLED");
});

test("a job that a reboot interrupted is FAILED_DRIVER; one that only waited runs", async (t) => {
  const agent = await startAgent(t, { cpus: 0.5 });
  const running = await agent.submit(waits);
  const queued = await agent.submit("true");
  await agent.untilJob(running.id, "RUNNING");
  await agent.end("SIGKILL");
  const journal = new DatabaseSync(join(agent.home, ".outrigger/agent/journal.db"));
  journal.exec("UPDATE parts SET boot_id = 'another'");
  journal.close();
  await agent.start();
  const job = await agent.untilJob(running.id);

  assert.equal(job.status, "FAILED_DRIVER");
  assert.equal(job.reason, "the machine was rebooted");
  assert.equal((await agent.untilJob(queued.id)).status, "SUCCEEDED");
});

test("a second agent on the same home does not start while the first lives", async (t) => {
  const agent = await startAgent(t, { bare: true });

  await assert.rejects(startProcess(agent.home), /another agent serves/);
  assert.equal((await agent.call("health", {})).pid, agent.pid);
});
