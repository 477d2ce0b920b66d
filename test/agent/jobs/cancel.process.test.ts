import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { findProcess, findTree } from "../../../common/process-tree.ts";
import { startAgent, until } from "../../helpers/agent.ts";

const agent = await startAgent({ after }, { cpus: 8 });
const fixture = (name: string) => join(import.meta.dirname, "../../fixtures", name);
const markOf = (id: number) => `OUTRIGGER_JOB_FOLDER=${agent.home}/.outrigger/jobs/${id}`;
const leftOf = (id: number) => findTree({ roots: [], mark: markOf(id) });

test("a job that heeds TERM cleans up and is CANCELLED at once", async () => {
  const { id } = await agent.submit(
    "trap 'echo cleans; exit 1' TERM; touch ~/r1; sleep 1000 & wait",
  );
  await until(() => existsSync(join(agent.home, "r1")) || undefined);
  const job = await agent.call("cancelJob", { id, graceMs: 60_000 });

  assert.equal(job.status, "CANCELLED");
  assert.equal(job.reason, "cancelled");
  assert.match(await agent.log(id), /^cleans$/m);
  assert.deepEqual(leftOf(id), []);
});

for (const name of ["ignores-term", "respawns"])
  test(`of a job that ${name} nothing is left once it is CANCELLED`, async () => {
    const ready = join(agent.home, name);
    const { id } = await agent.submit(`${fixture(name)} ${ready}`);
    await until(() => existsSync(ready) || undefined);
    const job = await agent.call("cancelJob", { id, graceMs: 50 });

    assert.equal(job.status, "CANCELLED");
    assert.deepEqual(leftOf(id), []);
  });

test("what left session, group and parent is cancelled with its job", async () => {
  const ready = join(agent.home, "detached");
  const { id } = await agent.submit(`${fixture("detaches")} ${ready}; sleep 1000`);
  const pid = await until(
    () => (existsSync(ready) && Number(readFileSync(ready, "utf8"))) || undefined,
  );
  assert.equal(findProcess(pid)?.alive, true);
  await agent.call("cancelJob", { id });

  assert.notEqual(findProcess(pid)?.alive, true);
});

test("a job that is set up or waits can be cancelled, and one that ended stays what it was", async () => {
  const all = { cpus: 8, accelerators: 0 };
  const first = await agent.submit("true", { setup: "sleep 1000", demand: all });
  const waiting = await agent.submit("true", { demand: all });
  await agent.untilJob(first.id, "SETTING_UP");

  assert.equal((await agent.call("cancelJob", { id: waiting.id })).status, "CANCELLED");
  assert.equal((await agent.call("cancelJob", { id: first.id })).status, "CANCELLED");
  const again = await agent.call("cancelJob", { id: first.id });
  assert.equal(again.status, "CANCELLED");

  const done = await agent.submit("true");
  await agent.untilJob(done.id, "SUCCEEDED");
  assert.equal((await agent.call("cancelJob", { id: done.id })).status, "SUCCEEDED");
});

test("cancelling a job that is not there is an error", async () => {
  await assert.rejects(agent.call("cancelJob", { id: 999 }), {
    name: "JobNotFoundError",
    message: "there is no job 999 on this node",
  });
});
