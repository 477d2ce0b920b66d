import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplicaPolicy } from "../../../../contract/task/replica-policy.ts";
import { type Decision, planService } from "../../../../control/services/decisions/plan.ts";
import type { ServiceView } from "../../../../control/services/decisions/schema.ts";
import type { Replica, Version } from "../../../../control/services/schema.ts";
import { aReplica } from "../rows.ts";
import { aFailure, aPolicy, aVersion } from "./versions.ts";

const now = 10_000_000;

function plan(
  target: number,
  replicas: readonly Replica[],
  more: {
    versions?: Version[];
    policy?: Partial<ReplicaPolicy>;
    update?: ServiceView["spec"]["update"];
    usesSpot?: boolean;
    hasMachines?: boolean;
    busy?: readonly string[];
    answering?: ServiceView["answering"];
  } = {},
): Decision {
  const { versions = [aVersion(1)], policy = {}, usesSpot = false, hasMachines = false } = more;
  const { update = { maxSurge: 1, maxUnavailable: 0 } } = more;
  const scaling = { target, reason: "so many are asked for", pressure: null };
  const spec = { policy: aPolicy(target, policy), update, usesSpot };
  const { answering } = more;
  return planService({
    ...{ service: { scaling }, versions, replicas, spec, hasMachines, now },
    ...{ busy: new Set(more.busy), ...(answering && { answering }) },
  });
}

const ready = (number: number, more: Partial<Replica> = {}) =>
  aReplica({
    ...{ number, status: "READY", readyAt: now, statusChangedAt: now },
    ...{ host: "127.0.0.1", port: number },
    ...more,
  });
const leaving = ({ leave }: Decision) => leave.map(({ replica }) => replica.number);

test("what is missing is started, with the reason of the target", () => {
  const { start, leave, status } = plan(2, []);

  const because = "so many are asked for";
  assert.deepEqual(start, [
    { version: 1, isSpot: false, because },
    { version: 1, isSpot: false, because },
  ]);
  assert.deepEqual([leave, status], [[], "REPLICA_INIT"]);
});

test("what ended, or is on its way out, is none of those that there should be", () => {
  const gone = ready(2, { wanted: "GONE", drainUntil: now });
  const lost = aReplica({ number: 3, status: "PREEMPTED", endedAt: now });
  const closed = ready(4, { wanted: "GONE" });
  const decision = plan(2, [ready(1), gone, lost, closed]);

  assert.equal(decision.start.length, 1);
  assert.deepEqual(
    [...decision.roles],
    [
      [1, "serving"],
      [2, "draining"],
    ],
  );
});

test("one whose machine is being taken away answers until another is ready", () => {
  const noticed = ready(1, { status: "PREEMPTED", endedAt: now, drainUntil: now });
  const roleNextTo = (...others: Replica[]) => plan(1, [noticed, ...others]).roles.get(1);

  assert.equal(plan(1, [noticed]).start.length, 1);
  assert.equal(roleNextTo(ready(2, { status: "STARTING" })), "serving");
  assert.equal(roleNextTo(ready(2)), "draining");
  const sentAway = { ...noticed, wanted: "GONE" } as const;
  assert.equal(plan(1, [sentAway]).roles.get(1), "draining");
});

test("a service is READY while one answers whose machine is being taken away", () => {
  const more = { readyAt: 1, reason: "its machine is being preempted: reclaimed" };
  const noticed = ready(1, { status: "PREEMPTED", endedAt: now, drainUntil: now, ...more });
  const starting = ready(2, { status: "STARTING" });
  const told = (answering?: number[]) => {
    const view = answering && { answering: new Set(answering) };
    const { status, reason } = plan(1, [noticed, starting], view);
    return [status, reason];
  };
  const serves = "only replica 1 serves; its machine is being preempted: reclaimed";

  assert.deepEqual(told([1]), ["READY", serves]);
  assert.deepEqual(told([]), ["REPLICA_INIT", "no replica is ready yet"]);
  // A silent balancer says nothing of it.
  assert.deepEqual(told(), ["READY", serves]);
  assert.equal(plan(1, [noticed, ready(2)]).reason, "1 of 1 are ready");
  const both = plan(2, [noticed, { ...noticed, number: 2 }], { answering: new Set([1, 2]) });
  assert.equal(both.reason, serves.replace("replica 1 serves", "replicas 1, 2 serve"));
  const lost = { ...noticed, drainUntil: null };
  assert.equal(plan(1, [lost, starting], { answering: new Set([1]) }).status, "REPLICA_INIT");
});

test("one that failed while it had requests is drained, and nothing else that ended", () => {
  const place = { host: "127.0.0.1", port: 1, endedAt: now };
  const open = aReplica({ ...place, number: 1, status: "FAILED_PROBING", drainUntil: now });
  const closed = aReplica({ ...place, number: 2, status: "FAILED_PROBING" });
  const ended = aReplica({ ...place, number: 3, status: "FAILED" });

  assert.deepEqual([...plan(0, [open, closed, ended]).roles], [[1, "draining"]]);
});

const statuses = ["READY", "PENDING", "NOT_READY", "STARTING", "PROVISIONING"] as const;

test("of too many, those go first that are of the least use, then the newest", () => {
  const replicas = [...statuses, "READY" as const].map((status, index) =>
    aReplica({ number: index + 1, status }),
  );
  const order = [5, 4, 3, 2, 1, 0].map((target) => leaving(plan(target, replicas)));

  assert.deepEqual(
    order.map((numbers) => numbers.length),
    [1, 2, 3, 4, 5, 6],
  );
  assert.deepEqual(order.at(-1), [1, 6, 3, 4, 5, 2]);
  assert.deepEqual(order[0], [2]);
});

const statusCases: [string, number, Replica[], string, RegExp][] = [
  ["one is ready", 2, [ready(1), aReplica({ number: 2 })], "READY", /^1 of 2 are ready$/],
  ["none is ready yet", 1, [aReplica({ number: 1 })], "REPLICA_INIT", /^no replica is ready yet$/],
  ["none is wanted", 0, [], "NO_REPLICA", /asked for/],
  ["one failed", 1, [aFailure(1, now)], "REPLICA_INIT", /ready yet/],
  [
    "two failed",
    1,
    [aFailure(1, now), aFailure(2, now + 1, { reason: "its run exited with 3" })],
    "FAILED",
    /^replica 2: its run exited with 3$/,
  ],
  ["others are ready", 2, [ready(3), aFailure(1, now), aFailure(2, now)], "READY", /1 of 2/],
];

for (const [when, target, replicas, expected, because] of statusCases)
  test(`the status of a service when ${when} is ${expected}`, () => {
    const { status, reason } = plan(target, replicas);

    assert.equal(status, expected);
    assert.match(reason, because);
  });

test("while replicas fail one after another one at a time is tried, ever later", () => {
  const [first, second, third] = [1, 2, 3].map((number) => aFailure(number, now - 15_000));
  assert.ok(first && second && third);

  assert.equal(plan(3, [first]).start.length, 3);
  assert.equal(plan(3, [first, second]).start.length, 1);
  const held = plan(3, [first, second, third]);
  assert.deepEqual(held.start, []);
});

test("once there is a machine, what found none holds up no other, and what crashed does", () => {
  const unplaced = { status: "FAILED_PROVISION", isUnplaced: true } as const;
  const none = [1, 2, 3, 4].map((number) => aFailure(number, now, unplaced));
  const crashed = [5, 6].map((number) => aFailure(number, now));
  const startedOf = (failed: readonly Replica[], hasMachines: boolean) =>
    plan(3, failed, { hasMachines }).start.length;

  assert.deepEqual([startedOf(none, false), startedOf(none, true)], [0, 1]);
  assert.equal(startedOf([...none, ...crashed], true), 0);
});

test("spot machines that cannot be had hold up no others, and are no reason to give a version up", () => {
  const versions = [aVersion(1, { readyAt: 1 }), aVersion(2)];
  const lack = { version: 2, isSpot: true, status: "FAILED_PROVISION" } as const;
  const lacking = [2, 3, 4, 5].map((number) => aFailure(number, now - 15_000, lack));
  const policy = { dynamicOndemandFallback: true };
  const kindsOf = ({ start }: Decision) => start.map(({ isSpot }) => isSpot);
  const more = { versions, policy, usesSpot: true };

  const update = { maxSurge: 9, maxUnavailable: 0 };
  const held = plan(2, [ready(1), ...lacking], { ...more, update });
  const due = plan(2, [ready(1), ...lacking.slice(0, 2)], { ...more, update });
  const crashed = lacking.map((one) => ({ ...one, status: "FAILED" as const }));

  assert.deepEqual([kindsOf(held), held.giveUp], [[false, false], undefined]);
  assert.deepEqual(kindsOf(due), [false, false, true]);
  assert.notEqual(plan(2, [ready(1), ...crashed], more).giveUp, undefined);
});

test("what stands in for spot replicas says so, as it comes and as it goes", () => {
  const policy = { dynamicOndemandFallback: true, baseOndemandReplicas: 1 };
  const spots = [2, 3].map((number) => ready(number, { isSpot: true }));
  const comes = plan(3, [], { policy, usesSpot: true });
  const goes = plan(3, [ready(1), ...spots, ready(4), ready(5)], { policy, usesSpot: true });
  const shrinks = plan(2, [ready(1), ...spots, ready(4)], { policy, usesSpot: true });
  const asked = "so many are asked for";
  const standsIn = `stands in for a spot replica: ${asked}`;

  assert.deepEqual(
    comes.start.map(({ isSpot, because }) => [isSpot, because]),
    [
      [false, asked],
      [false, standsIn],
      [false, standsIn],
      [true, asked],
      [true, asked],
    ],
  );
  assert.deepEqual(
    goes.leave.map(({ replica, because }) => [replica.number, because]),
    [4, 5].map((number) => [number, "the spot replica that it stood in for is ready"]),
  );
  assert.deepEqual(
    shrinks.leave.map(({ because }) => because),
    [`scaled down: ${asked}`, `scaled down: ${asked}`],
  );
});

test("who gives a version up starts no more of it", () => {
  const versions = [aVersion(1, { readyAt: 1 }), aVersion(2)];
  const failed = [2, 3, 4].map((number) => aFailure(number, 1, { version: 2 }));
  const decision = plan(1, [ready(1), ...failed], { versions });

  assert.equal(decision.giveUp?.version, 2);
  assert.deepEqual([decision.start, decision.leave], [[], []]);
});

const keptVersions: [string, Version[]][] = [
  ["it was ready once", [aVersion(1, { readyAt: 1 }), aVersion(2, { readyAt: 1 })]],
  ["none before was ever ready", [aVersion(1), aVersion(2)]],
  ["the one before was given up", [aVersion(1, { readyAt: 1, givenUp: "x" }), aVersion(2)]],
];
for (const [when, versions] of keptVersions)
  test(`a version that fails is not given up when ${when}`, () => {
    const failed = [1, 2, 3, 4].map((number) => aFailure(number, now, { version: 2 }));

    assert.equal(plan(1, failed, { versions }).giveUp, undefined);
  });

test("an update does not count on replicas that go for another reason in the same decision", () => {
  const versions = [aVersion(1), aVersion(2)];
  const spot = { version: 2, isSpot: true };
  const replicas = [ready(1), aReplica({ number: 2, version: 2 }), ready(3, spot), ready(4, spot)];
  const policy = { baseOndemandReplicas: 1 };

  assert.deepEqual(leaving(plan(2, replicas, { versions, policy, usesSpot: true })), [4]);
});

test("old replicas that were never ready go at once, others as far as new ones are ready", () => {
  const versions = [aVersion(1), aVersion(2)];
  const away = ready(1, { status: "NOT_READY" });
  const old = [away, ready(2), ready(3), aReplica({ number: 5, status: "STARTING" })];
  const fresh = ready(4, { version: 2 });
  const update = { maxSurge: 0, maxUnavailable: 1 };

  assert.deepEqual(leaving(plan(3, old, { versions })), [5]);
  assert.deepEqual(leaving(plan(3, [...old, fresh], { versions })), [5, 1]);
  assert.deepEqual(leaving(plan(2, [...old, fresh], { versions })), [5, 1, 3]);
  assert.deepEqual(leaving(plan(3, old, { versions, update })), [5, 1]);
  assert.deepEqual(leaving(plan(3, [...old, fresh], { versions, update })), [5, 1, 3]);
});

test("new replicas that are away for a moment take the place of no old one", () => {
  const versions = [aVersion(1), aVersion(2)];
  const away = ready(3, { version: 2, status: "NOT_READY" });

  assert.deepEqual(leaving(plan(2, [ready(1), ready(2), away], { versions })), []);
});

for (const mode of ["rolling", "blue_green"] as const)
  test(`what is ready of a version that was given up serves until a ${mode} one before does`, () => {
    const versions = [aVersion(1, { readyAt: 1, mode }), aVersion(2, { givenUp: "x" })];
    const given = ready(2, { version: 2 });
    const starting = aReplica({ number: 3, version: 2, status: "STARTING" });
    const before = aReplica({ number: 1, status: "STARTING", host: "127.0.0.1", port: 1 });
    const alone = plan(1, [before, given, starting], { versions });
    const replaced = plan(1, [ready(1), given, starting], { versions });

    assert.deepEqual(leaving(alone), [3]);
    assert.deepEqual([alone.roles.get(1), alone.roles.get(2)], ["serving", "serving"]);
    assert.deepEqual(leaving(replaced), [3, 2]);
    const whys = [...plan(2, [given], { versions }).start, ...replaced.leave];
    for (const { because } of whys)
      assert.equal(because, "back to version 1: version 2 was given up");
    assert.deepEqual([replaced.roles.get(1), replaced.roles.get(2)], ["serving", "draining"]);
  });

test("of unlike machines those stay that take the most, as so many are counted", () => {
  const of = (number: number, name: string) => ready(number, { accelerators: { name, count: 1 } });
  const policy = { targetQps: { A100: 10, T4: 2 } };

  assert.deepEqual(leaving(plan(1, [of(1, "T4"), of(2, "A100"), of(3, "T4")], { policy })), [1, 3]);
});
