import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { superviseWork } from "../../../agent/jobs/supervisor.ts";
import { beginPreemption, getLifecycle } from "../../../agent/lifecycles/lifecycles.ts";
import { noShowMs } from "../../../agent/lifecycles/time.ts";
import { envOf } from "../../../common/product.ts";
import type { Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import { jobMachine } from "../../../contract/statuses.ts";
import { aSubmission, eventsOf, startAgent, until } from "../../helpers/agent.ts";
import { aWorld } from "../world.ts";
import {
  aHook,
  begin,
  letGo,
  logOnNode,
  outcomes,
  play,
  processesOf,
  putHooks,
  soon,
  unspoilt,
  untilFile,
  untilStatus,
} from "./steps.ts";

/** A job that says when it is up, and what it does with TERM. */
const heeds = "trap 'echo saw TERM; exit 0' TERM; touch ~/up; while :; do sleep 0.05; done";

test("jobs go on while hooks run; then they get TERM, and their reason says why", async (t) => {
  const agent = await startAgent(t);
  const job = await agent.submit(heeds);
  await untilFile(agent, "up");
  await putHooks(agent, [aHook("touch ~/in; until [ -e ~/go ]; do sleep 0.05; done")]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  assert.equal((await agent.call("getJob", job)).status, "RUNNING");
  letGo(agent);
  await untilStatus(agent, begun, "READY");

  const { status, reason } = await agent.call("getJob", job);
  assert.deepEqual([status, reason], ["CANCELLED", "the cluster was stopped (stop by ann)"]);
  assert.match(await agent.log(job.id), /saw TERM\n/);
  assert.deepEqual(processesOf(agent), []);
});

test("one that runs nothing takes the id of a submission that is late, also while the node leaves", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("touch ~/in; until [ -e ~/go ]; do sleep 0.05; done")]);
  await begin(agent, "stop");
  await untilFile(agent, "in");
  const submissionId = "late";

  const { id } = await agent.call("submit", aSubmission(null, { submissionId }));
  const { status } = await agent.call("cancelJob", { id });
  const late = await agent.call("submit", aSubmission("touch ~/late", { submissionId }));
  const another = agent.call("submit", aSubmission("touch ~/late"));

  await assert.rejects(another, { name: "ConflictError", message: /^jobs are not accepted/ });
  assert.deepEqual([late.id, late.status], [id, status]);
  assert.ok(jobMachine.isFinal(status));
  letGo(agent);
});

test("a job that waits in the queue does not begin while the node leaves, but once it stays", async (t) => {
  const agent = await startAgent(t, { cpus: 0.5 });
  const first = await agent.submit("touch ~/up; sleep 987");
  const queued = await agent.submit("echo second");
  await untilFile(agent, "up");
  const ready = await play(agent, "stop");
  assert.equal((await agent.call("getJob", first)).status, "CANCELLED");
  assert.equal((await agent.call("getJob", queued)).status, "PENDING");
  await agent.call("cancelLifecycle", ready);

  assert.equal((await agent.untilJob(queued.id)).status, "SUCCEEDED");
});

test("in a preemption jobs get TERM before a slow hook is over, while 40 % of the time is left", async (t) => {
  const run =
    "until grep -q 'saw TERM' ~/.outrigger/jobs/1/run.log; do sleep 0.05; done; echo seen";
  const budgetMs = 8_000;
  const preempt = async () => {
    const agent = await startAgent(t);
    const job = await agent.submit(heeds);
    await untilFile(agent, "up");
    await putHooks(agent, [aHook(run, { timeoutSeconds: 3600 })]);
    const deadlineAt = soon(budgetMs);
    const ready = await play(agent, "preemption", { deadlineAt });
    return { agent, job, ready, leftMs: deadlineAt - (ready.runs[0]?.endedAt ?? 0) };
  };
  const hasSeen = ({ ready }: { ready: Lifecycle }) => ready.runs[0]?.status === "SUCCEEDED";
  const { agent, job, ready, leftMs } = await unspoilt(preempt, hasSeen);

  assert.deepEqual(outcomes(ready), ["0 preemption SUCCEEDED 0"]);
  assert.equal(logOnNode(agent, "preemption"), "seen\n");
  assert.ok(leftMs < budgetMs * 0.4 + 20, `${leftMs} ms were left`);
  assert.equal(
    (await agent.call("getJob", job)).reason,
    "the node was taken away (preemption by ann)",
  );
});

test("a replica that is taken away serves until its cluster is to go, it ends, or jobs end anyway", async (t) => {
  const env = envOf("REPLICA_PORT", "8123");
  const preempted = async (budgetMs: number, run = heeds) => {
    const agent = await startAgent(t);
    const replica = await agent.submit(run, { env });
    await untilFile(agent, "up");
    const { id } = await begin(agent, "preemption", { deadlineAt: soon(budgetMs) });
    await untilStatus(agent, { id }, "JOBS");
    return { agent, id, status: async () => (await agent.call("getJob", replica)).status };
  };
  const dismissed = await preempted(600_000);
  assert.equal(await dismissed.status(), "RUNNING");
  await begin(dismissed.agent, "down");
  await untilStatus(dismissed.agent, dismissed, "READY");
  assert.equal(await dismissed.status(), "CANCELLED");

  const left = await preempted(10_000);
  await untilStatus(left.agent, left, "READY");
  assert.equal(await left.status(), "CANCELLED");

  const kept = await preempted(600_000);
  await begin(kept.agent, "stop");
  await untilStatus(kept.agent, kept, "READY");
  assert.equal(await kept.status(), "CANCELLED");

  const ended = await preempted(600_000, "touch ~/up; until [ -e ~/go ]; do sleep 0.05; done");
  letGo(ended.agent);
  await untilStatus(ended.agent, ended, "READY");
  assert.equal(await ended.status(), "SUCCEEDED");
});

test("a worker that is taken away runs its hooks with its rank and ends its own rank", async (t) => {
  const addresses = ["127.0.0.1", "127.0.0.2"];
  const worker = await startAgent(t, { rank: 1, addresses });
  const spec = {
    ...{ jobId: 7, setup: null, run: "touch ~/up; sleep 987", env: {}, secrets: {}, nodes: 2 },
    demand: { cpus: 0.5, accelerators: 0 },
  };
  await worker.call("putPart", { id: 7, wanted: "setup", spec });
  await worker.call("putPart", { id: 7, wanted: "run" });
  await untilFile(worker, "up");
  await putHooks(worker, [aHook("echo rank $OUTRIGGER_NODE_RANK")]);
  await play(worker, "preemption", { deadlineAt: soon(30_000) });

  assert.equal(logOnNode(worker, "preemption"), "rank 1\n");
  const events = eventsOf((await worker.open("events", {})).body);
  for await (const { kind, status } of events) if (kind === "part" && status === "ENDED") break;
  assert.deepEqual(processesOf(worker), []);
});

test("a node that is still there a minute after the deadline accepts jobs again", async (t) => {
  const { world: agent, ...time } = aWorld(t);
  const pass = async (ms: number) => {
    time.pass(ms);
    await turn();
  };
  superviseWork(agent).catch(() => {});
  const { id } = beginPreemption(agent, { because: "a notice", deadlineAt: agent.now() + 30_000 });
  await until(() => getLifecycle(agent, id).status === "READY" || undefined);
  await pass(30_000 + noShowMs - 1_000);
  assert.equal(getLifecycle(agent, id).status, "READY");
  await pass(1_000);
  const over = await until(() => {
    const lifecycle = getLifecycle(agent, id);
    return lifecycle.status === "CANCELLED" ? lifecycle : undefined;
  });

  assert.equal(over.endedAt, agent.now());
});
