import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNoFlapping, checkSettled, type Moment, Simulator } from "./simulator.ts";
import { aPolicy } from "./versions.ts";

const policy = aPolicy(1, {
  max: 5,
  targetQps: 10,
  upscaleDelaySeconds: 30,
  downscaleDelaySeconds: 120,
});
const targets = (trace: readonly Moment[]): number[] =>
  trace.map(({ target }) => target).filter((target, at, all) => target !== all[at - 1]);
const startsIn = (trace: readonly Moment[]) => trace.flatMap(({ decision }) => decision.start);

test("more requests bring more replicas, which stay for a while when there are fewer", () => {
  const service = new Simulator({ policy });
  service.pass(60);
  service.rate = 35;
  const up = service.pass(200);
  service.rate = 1;
  const down = service.pass(400);

  assert.equal(up.at(-1)?.serving, 4);
  assert.ok(up.every((moment, at) => moment.target >= (up[at - 1]?.target ?? 0)));
  assert.ok(down.slice(0, 120).every(({ target }) => target === 4));
  assert.equal(startsIn(down).length, 0);
  checkNoFlapping(service.trace);
  checkSettled(down, 1, 1);
});

test("a load that comes and goes changes nothing", () => {
  const service = new Simulator({ policy });
  service.pass(60);
  const from = service.trace.length;
  for (let round = 0; round < 20; round += 1) {
    service.rate = round % 2 === 0 ? 15 : 5;
    service.pass(20);
  }

  assert.deepEqual(targets(service.trace.slice(from)).length, 1);
  assert.equal(startsIn(service.trace.slice(from)).length, 0);
});

test("a service that nobody asks goes to zero, and the first request brings it back", () => {
  const service = new Simulator({ policy: { ...policy, min: 0 } });
  service.pass(10);
  assert.deepEqual([service.now.target, service.now.decision.status], [0, "NO_REPLICA"]);
  service.rate = 1;
  const [first] = service.pass(1);
  assert.equal(first?.decision.start.length, 1);
  service.pass(30);
  assert.deepEqual([service.now.serving, service.now.decision.status], [1, "READY"]);
  service.rate = 0;
  service.pass(300);

  assert.deepEqual([service.now.live, service.now.decision.status], [0, "NO_REPLICA"]);
  checkNoFlapping(service.trace);
});

test("an update while a service is at zero starts nothing, and the next request meets it", () => {
  const service = new Simulator({ policy: { ...policy, min: 0 } });
  service.pass(10);
  service.update({ policy: { ...policy, min: 0 }, mode: "blue_green" });
  assert.equal(startsIn(service.pass(10)).length, 0);
  service.rate = 1;
  service.pass(60);

  assert.deepEqual(
    service.now.replicas.map(({ version, status }) => [version, status]),
    [[2, "READY"]],
  );
});

test("a lost replica is replaced at once, each time, and none of the others goes", () => {
  const service = new Simulator({ policy: aPolicy(3) });
  service.pass(60);
  for (const number of [1, 2, 3, 4, 5]) {
    service.lose(number);
    const trace = service.pass(60);
    assert.equal(trace[0]?.decision.start.length, 1);
    assert.ok(trace.every(({ serving, decision }) => serving >= 2 && decision.leave.length === 0));
  }

  checkSettled(service.pass(40), 1, 3);
});

test("replicas beyond the target that are configured do not move it", () => {
  const service = new Simulator({ policy: aPolicy(2, { overprovision: 1 }) });
  service.pass(60);

  assert.deepEqual([service.now.serving, service.now.target], [3, 2]);
});

test("while spot machines are lost others stand in, and go once spot is back", () => {
  const spot = aPolicy(3, { dynamicOndemandFallback: true, baseOndemandReplicas: 1 });
  const kinds = () =>
    [true, false].map((isSpot) => {
      const live = service.now.replicas.filter((one) => one.isSpot === isSpot);
      return live.filter(({ wanted, status }) => wanted === "UP" && status === "READY").length;
    });
  const life = ({ isSpot }: { isSpot: boolean }) => ({ readyAfterMs: isSpot ? 100_000 : 20_000 });
  const service = new Simulator({ policy: spot, usesSpot: true, life });
  service.pass(30);
  assert.deepEqual(kinds(), [0, 3]);
  service.pass(120);
  assert.deepEqual(kinds(), [2, 1]);
  for (const { number, isSpot } of service.now.replicas) if (isSpot) service.lose(number);
  const trace = service.pass(60);
  assert.deepEqual(kinds(), [0, 3]);
  assert.ok(trace.every(({ live }) => live <= 5));
  service.pass(120);

  assert.deepEqual(kinds(), [2, 1]);
  checkNoFlapping(service.trace);
});

test("an update of a spot service with stand-ins never has too few, and settles", () => {
  const spot = aPolicy(3, { dynamicOndemandFallback: true, baseOndemandReplicas: 1 });
  const life = ({ isSpot }: { isSpot: boolean }) => ({ readyAfterMs: isSpot ? 50_000 : 20_000 });
  const service = new Simulator({ policy: spot, usesSpot: true, life });
  service.pass(120);
  service.update({ policy: spot, usesSpot: true, life });
  const trace = service.pass(600);

  assert.ok(trace.every(({ serving }) => serving >= 3));
  // Its own stand-ins are the only ones more than an update may have.
  assert.ok(trace.every(({ live }) => live <= 3 + 2 + 1));
  checkNoFlapping(service.trace);
  checkSettled(trace, 2, 3);
});
