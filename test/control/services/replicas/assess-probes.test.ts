import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeenReplica } from "../../../../contract/balancer-api.ts";
import type { ReplicaStatus } from "../../../../contract/statuses.ts";
import { judge } from "../../../../control/services/replicas/assess-probes.ts";

const runAt = 1_000_000;
const probe = { initialDelaySeconds: 100, failureWindowSeconds: 50 };
const seconds = (count: number): number => runAt + count * 1_000;

/** What was seen when: never asked yet, but for what is given. */
const aSight = (more: Partial<SeenReplica> = {}): SeenReplica => ({
  ...{ id: 1, readiness: "unknown", since: 0, failingSince: null, problem: null, open: 0 },
  ...more,
});
const bad = aSight({ problem: "503", failingSince: seconds(10) });
const down = aSight({ ...bad, readiness: "not_ready" });
const good = aSight({ readiness: "ready" });
/** It answers again, but not often enough yet. */
const rising = aSight({ readiness: "not_ready" });

const aReplica = (status: ReplicaStatus) => ({ status, statusChangedAt: seconds(10), runAt });

const cases: [string, ReplicaStatus, SeenReplica, number, ReplicaStatus | undefined][] = [
  ["starts and answers", "STARTING", good, 5, "READY"],
  ["starts and answers at last", "STARTING", good, 500, "READY"],
  ["starts and has time", "STARTING", bad, 99, undefined],
  ["starts and has had its time", "STARTING", bad, 100, "FAILED_INITIAL_DELAY"],
  ["starts and was not asked", "STARTING", aSight(), 500, undefined],
  ["is ready and answers", "READY", good, 500, undefined],
  ["is ready and does not answer", "READY", down, 11, "NOT_READY"],
  ["is ready, and a new balancer was not answered once", "READY", bad, 11, undefined],
  ["is ready, and a new balancer was not answered for long", "READY", bad, 60, "NOT_READY"],
  ["is ready, and a new balancer has not asked", "READY", aSight(), 500, undefined],
  ["is not ready and answers again", "NOT_READY", good, 500, "READY"],
  ["is not ready for a while", "NOT_READY", down, 59, undefined],
  ["is not ready for too long", "NOT_READY", down, 60, "FAILED_PROBING"],
  ["is not ready and answers now and then", "NOT_READY", rising, 500, undefined],
  ["is not ready, and a new balancer is not answered", "NOT_READY", bad, 60, "FAILED_PROBING"],
  ["is being created", "PROVISIONING", good, 500, undefined],
  ["goes", "SHUTTING_DOWN", down, 500, undefined],
];

for (const [what, status, seen, at, expected] of cases)
  test(`a replica that ${what} is ${expected ?? "what it was"}`, () => {
    assert.equal(judge(aReplica(status), seen, probe, seconds(at))?.to, expected);
  });

test("the initial delay does not begin before the run", () => {
  const verdict = judge({ ...aReplica("STARTING"), runAt: null }, bad, probe, seconds(5_000));

  assert.equal(verdict, undefined);
});

test("a replica that failed for long while control was away is left the time to be reached again", () => {
  const found = { ...aReplica("NOT_READY"), statusChangedAt: seconds(400) };
  const verdictAt = (at: number) => judge(found, down, probe, seconds(at))?.to;

  assert.deepEqual([verdictAt(400), verdictAt(449)], [undefined, undefined]);
  assert.equal(verdictAt(450), "FAILED_PROBING");
});

test("a replica that starts has its initial delay again once control is back", () => {
  const verdictAt = (at: number) =>
    judge(aReplica("STARTING"), bad, probe, seconds(at), seconds(400))?.to;

  assert.deepEqual([verdictAt(400), verdictAt(499)], [undefined, undefined]);
  assert.equal(verdictAt(500), "FAILED_INITIAL_DELAY");
});

test("a replica whose run began before the clock was set back has its initial delay once more", () => {
  const begun = { ...aReplica("STARTING"), runAt: seconds(9_000) };
  const verdictAt = (at: number) => judge(begun, bad, probe, seconds(at), seconds(400))?.to;

  assert.equal(verdictAt(499), undefined);
  assert.equal(verdictAt(500), "FAILED_INITIAL_DELAY");
});

test("a replica does not fail by the hours that its machine slept", () => {
  const found = { ...aReplica("NOT_READY"), statusChangedAt: seconds(10) };
  const verdictAt = (at: number) => judge(found, down, probe, seconds(at), seconds(9_000))?.to;

  assert.equal(verdictAt(9_049), undefined);
  assert.equal(verdictAt(9_050), "FAILED_PROBING");
});

test("the reason says what the probe was answered", () => {
  const reasonOf = (status: ReplicaStatus, seen: SeenReplica) =>
    judge(aReplica(status), seen, probe, seconds(200))?.reason;

  assert.equal(reasonOf("STARTING", bad), "it was not ready 100 s after its run began: 503");
  assert.equal(reasonOf("READY", down), "it fails its probe: 503");
  assert.equal(reasonOf("NOT_READY", down), "it failed its probe for 50 s: 503");
  assert.doesNotMatch(reasonOf("READY", rising) ?? "", /null/);
});
