import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isCorrupt } from "../../agent/journal.ts";
import { aNode, aSubmission, eventsOf, startAgent, until } from "../helpers/agent.ts";

/** A run that counts its starts, then waits for a file, and ends with 5. */
const waits = "echo started; until [ -e ~/go ]; do sleep 0.05; done; echo went; exit 5";

test("a journal that is corrupt is set aside, and its jobs go on without running twice", async (t) => {
  const demand = { cpus: 1, accelerators: 1 };
  const accelerators = { name: "H100", count: 2 };
  const agent = await startAgent(t, { cpus: 2, accelerators });
  const done = await agent.submit("echo done");
  await agent.untilJob(done.id, "SUCCEEDED");
  const cancelled = await agent.submit("sleep 1000");
  await agent.call("cancelJob", { id: cancelled.id, graceMs: 0 });
  const running = await agent.submit(waits, { demand, secrets: { TOKEN: "s3cret" } });
  const submission = aSubmission('echo "second $TOKEN"', {
    secrets: { TOKEN: "s3cret" },
    demand: { cpus: 2, accelerators: 0 },
  });
  const queued = await agent.call("submit", submission);
  await until(async () => (await agent.log(running.id)) === "started\n" || undefined);
  const before = await agent.call("listJobs", {});
  await agent.end("SIGKILL");
  const folder = join(agent.home, ".outrigger/agent");
  writeFileSync(join(folder, "journal.db"), "nothing that a database begins with");
  rmSync(join(folder, "journal.db-wal"), { force: true });
  await agent.start();

  const after = await agent.call("listJobs", {});
  // Until it is configured again the agent cannot say what a job waits for.
  assert.deepEqual(
    after.map(({ startedAt: _, ...job }) => job),
    before.map(({ startedAt: _, ...job }) => ({
      ...job,
      reason: job.status === "PENDING" ? null : job.reason,
    })),
  );
  const { rebuilt } = await agent.call("health", {});
  assert.ok(existsSync(rebuilt?.aside ?? ""));
  const { body } = await agent.open("events", {});
  for await (const { kind, status } of eventsOf(body)) {
    assert.deepEqual([kind, status], ["journal", "REBUILT"]);
    break;
  }

  await assert.rejects(agent.submit("true"), { name: "UnreachableError" });
  await agent.call("configure", aNode({ cpus: 2, accelerators }));
  assert.equal((await agent.call("submit", submission)).id, queued.id);
  const next = await agent.submit("echo third $CUDA_VISIBLE_DEVICES", { demand });
  assert.equal(next.id, queued.id + 1);
  writeFileSync(join(agent.home, "go"), "");
  const ended = await agent.untilJob(running.id);

  assert.deepEqual([ended.status, ended.exitCode], ["FAILED", 5]);
  assert.equal(await agent.log(running.id), "started\nwent\n");
  await agent.untilJob(queued.id, "SUCCEEDED");
  assert.equal(await agent.log(queued.id), "second s3cret\n");
  await agent.untilJob(next.id, "SUCCEEDED");
});

test("an agent that is killed while it rebuilds its journal does so again", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit("true");
  await agent.untilJob(id, "SUCCEEDED");
  await agent.end("SIGKILL");
  const folder = join(agent.home, ".outrigger/agent");
  for (const suffix of ["", "-wal", "-shm"])
    rmSync(join(folder, `journal.db${suffix}`), { force: true });
  writeFileSync(join(folder, "rebuilding"), "");
  await agent.start();

  assert.equal((await agent.call("getJob", { id })).status, "SUCCEEDED");
  assert.equal(existsSync(join(folder, "rebuilding")), false);
});

test("a database that is corrupt is told from one that is busy or has no room", () => {
  const failedWith = (errcode: number) => Object.assign(new Error("failed"), { errcode });

  assert.deepEqual([11, 267, 26, 5, 13].map(failedWith).map(isCorrupt), [
    true,
    true,
    true,
    false,
    false,
  ]);
});
