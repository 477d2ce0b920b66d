import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Agent } from "../../agent/context.ts";
import { getJob, startNextJob, submitJob } from "../../agent/jobs/jobs.ts";
import { putPart } from "../../agent/jobs/ranks.ts";
import { checkLease, renewLease } from "../../agent/lease.ts";
import { listLifecycles, putHooks } from "../../agent/lifecycles/lifecycles.ts";
import { configureNode } from "../../agent/node.ts";
import { JobSubmission, NodeSettings } from "../../contract/agent-shapes.ts";
import { aNode, aSubmission } from "../helpers/agent.ts";
import { aWorld, type World } from "./world.ts";

const minuteMs = 60_000;
const leaseMs = 10 * minuteMs;
const node = NodeSettings.parse(aNode({}));
const renew = (agent: Agent, heard: number | null) =>
  renewLease(agent, { clusterId: node.clusterId, leaseMs, heard }).at;
const submit = (agent: Agent) => submitJob(agent, JobSubmission.parse(aSubmission("sleep 987"))).id;
const preemptions = (agent: Agent) =>
  listLifecycles(agent).filter(({ events }) => events.includes("preemption"));

/** A node with a lease, and a job that counts as running. */
function leased(t: TestContext): World & { id: number; at: number } {
  const opened = aWorld(t);
  const { world } = opened;
  configureNode(world, node);
  const at = renew(world, null) ?? assert.fail("the lease is over");
  const id = submit(world);
  startNextJob(world);
  return { ...opened, id, at };
}

test("an attempt ends half a minute before its lease does, as in a preemption", (t) => {
  const { world, clock, pass } = leased(t);
  putHooks(world, { version: "1", hooks: [], env: {}, secrets: {} });
  pass(leaseMs - 31_000);
  assert.equal(checkLease(world), 1_000);
  assert.deepEqual(preemptions(world), []);
  pass(1_000);
  checkLease(world);

  const [{ because, deadlineAt, leftMs } = assert.fail("nothing ends it")] = preemptions(world);
  assert.equal(because, "control has not been in touch: the lease of 10 min runs out");
  assert.deepEqual([deadlineAt, leftMs], [clock.wall + 30_000, 30_000]);
});

test("a lease counts from the instant that control has heard, however late that arrives", (t) => {
  const { world, at, pass } = leased(t);
  pass(5 * minuteMs);
  const next = renew(world, at);
  pass(4 * minuteMs);
  renew(world, at);
  pass(45_000);
  checkLease(world);
  assert.equal(preemptions(world).length, 1, "an old instant extends nothing");

  assert.equal(renew(world, next), null, "and what is over is not renewed");
});

test("a lease that is renewed in time ends nothing", (t) => {
  const { world, at, pass } = leased(t);
  let heard: number | null = at;
  for (let hour = 0; hour < 10 * 6; hour += 1) {
    pass(9 * minuteMs);
    heard = renew(world, heard);
    renew(world, heard);
  }

  assert.deepEqual(preemptions(world), []);
});

test("the time that a machine sleeps counts, and no hook runs once the lease is over", (t) => {
  const { world, clock } = leased(t);
  clock.asleep += leaseMs;
  checkLease(world);

  const [{ leftMs } = assert.fail("nothing ends it")] = preemptions(world);
  assert.equal(leftMs, 0);
});

test("an agent that starts after its lease has run out ends what runs, renewed or not", (t) => {
  const { world, at, pass, openNext } = leased(t);
  pass(leaseMs);
  const next = openNext();

  assert.equal(renew(next, at), null);
  assert.equal(preemptions(next).length, 1);
  assert.deepEqual(preemptions(world), [], "the one before did not look");
});

test("once its lease is over a node takes no job, and none that waits begins", (t) => {
  const { world, pass } = leased(t);
  const waiting = submit(world);
  pass(leaseMs);
  checkLease(world);

  const { status, reason } = getJob(world, waiting);
  assert.equal(status, "CANCELLED");
  assert.match(reason ?? "", /^control has not been in touch/);
  assert.throws(() => submit(world), { type: "ConflictError", message: /did not renew the lease/ });
});

test("once its lease is over a node begins no rank of a job, and takes that one is to end", (t) => {
  const { world, pass } = aWorld(t);
  configureNode(world, { ...node, rank: 1 });
  renew(world, null);
  pass(leaseMs);
  checkLease(world);
  const put = (wanted: "setup" | "end") => putPart(world, { id: 1, wanted, graceMs: 0 });

  assert.throws(() => put("setup"), { type: "ConflictError", message: /did not renew the lease/ });
  assert.equal(put("end").status, "ENDED");
});

test("a lease of another boot is over, and so is one that cannot be read", (t) => {
  const { home, world, openNext } = leased(t);
  const path = join(home, ".outrigger/agent/lease.json");
  writeFileSync(path, JSON.stringify({ ...world.lease, bootId: "another" }));
  const rebooted = openNext();
  writeFileSync(path, "{");

  assert.equal(renew(rebooted, null), null);
  assert.equal(renew(openNext(), null), null);
});

test("a lease that runs out while nothing runs is no preemption", (t) => {
  const { world, pass } = aWorld(t);
  configureNode(world, node);
  renew(world, null);
  pass(leaseMs);
  checkLease(world);

  assert.deepEqual(preemptions(world), []);
  configureNode(world, { ...node, clusterId: "another" });
  assert.equal(world.lease, undefined, "it is forgotten with its cluster");
});
