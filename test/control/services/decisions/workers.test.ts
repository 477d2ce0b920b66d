import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplicaPolicy } from "../../../../contract/task/replica-policy.ts";
import { planService } from "../../../../control/services/decisions/plan.ts";
import { scale } from "../../../../control/services/decisions/scale.ts";
import type { Replica, Version } from "../../../../control/services/schema.ts";
import { aReplica } from "../rows.ts";
import { aPolicy, aVersion } from "./versions.ts";

const now = 10_000_000;
const policy = (min: number, max: number, more: Partial<ReplicaPolicy> = {}) =>
  aPolicy(min, { max, queueLength: 1, upscaleDelaySeconds: 0, downscaleDelaySeconds: 0, ...more });

function targetOf(target: number, waiting: number, busy: number, given = policy(0, 3)) {
  const scaling = { target, reason: "before", pressure: null };
  const demand = {
    arrivals: [],
    open: 0,
    capacities: [],
    jobs: { waiting, busy },
    watchedSince: 0,
  };
  return scale(given, scaling, demand, now);
}

const targets: readonly [string, [number, number, number], number][] = [
  ["a first job starts a worker", [0, 1, 0], 1],
  ["as many wait as may wait", [1, 1, 1], 1],
  ["too many wait", [1, 2, 1], 2],
  ["too many wait, and there are as many workers as allowed", [3, 9, 3], 3],
  ["none waits, and all have jobs", [2, 0, 2], 2],
  ["none waits, and one has jobs", [3, 0, 1], 1],
  ["none waits, and none has jobs", [3, 0, 0], 0],
  ["none waits, and workers that drain have jobs as well", [1, 0, 3], 1],
];

for (const [what, [target, waiting, busy], expected] of targets)
  test(`workers follow the queue: ${what}`, () => {
    assert.equal(targetOf(target, waiting, busy).target, expected);
  });

test("more workers are wanted only once too many jobs have waited for long enough", () => {
  const slow = policy(1, 3, { upscaleDelaySeconds: 300 });

  const { target, pressure } = targetOf(1, 5, 1, slow);

  assert.deepEqual([target, pressure], [1, { to: "up", since: now }]);
});

test("never fewer than the bounds, whatever waits", () => {
  assert.equal(targetOf(2, 0, 0, policy(2, 3)).target, 2);
  assert.match(targetOf(2, 0, 1, policy(1, 3)).reason, /no job is waiting, and 1 worker has jobs/);
});

const ready = (number: number, more: Partial<Replica> = {}) =>
  aReplica({ number, status: "READY", readyAt: now, statusChangedAt: now, ...more });

function plan(
  target: number,
  replicas: readonly Replica[],
  busy: readonly number[] = [],
  versions: Version[] = [aVersion(1)],
) {
  const scaling = { target, reason: "so many are asked for", pressure: null };
  const update = { maxSurge: 1, maxUnavailable: 0 };
  return planService({
    ...{ service: { scaling }, versions, replicas, now, hasMachines: false },
    busy: new Set(busy.map((number) => `r${number}`)),
    spec: { policy: policy(0, 9), update, usesSpot: false },
  });
}
const leaving = ({ leave }: ReturnType<typeof plan>) => leave.map(({ replica }) => replica.number);

test("workers without jobs go first", () => {
  assert.deepEqual(leaving(plan(1, [ready(1), ready(2), ready(3)], [2])).toSorted(), [1, 3]);
  assert.deepEqual(leaving(plan(2, [ready(1), ready(2), ready(3)], [1, 3])), [2]);
});

test("an update takes the place of workers without jobs first", () => {
  const old = [ready(1), ready(2)];
  const fresh = ready(3, { version: 2 });

  const { leave, start } = plan(2, [...old, fresh], [1], [aVersion(1), aVersion(2)]);

  assert.deepEqual([leave.map(({ replica }) => replica.number), start.length], [[2], 0]);
});

test("workers that drain for long do not make a pool exceed what it may have meanwhile", () => {
  const draining = [1, 2, 3].map((number) => ready(number, { wanted: "GONE", drainUntil: now }));

  const { start } = plan(3, draining, [1, 2, 3]);

  assert.equal(start.length, 1);
});
