import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { openHold } from "../../../control/balancer/hold.ts";

const limits = { requests: 3, ms: 1_000 };

function aHold() {
  const told: string[] = [];
  const hold = openHold<string>("late");
  const add = (name: string) => hold.add(limits, (way) => told.push(`${name} ${way}`));
  return { hold, told, add };
}

test("those who wait are told in their order, no more of them than there are ways", () => {
  const { hold, told, add } = aHold();
  for (const name of ["a", "b", "c"]) add(name);
  const ways = ["1", "2"];

  hold.release(() => ways.shift());

  assert.deepEqual(told, ["a 1", "b 2"]);
  assert.equal(hold.count, 1);
  hold.release(() => "3");
  assert.deepEqual(told, ["a 1", "b 2", "c 3"]);
  assert.equal(hold.count, 0);
});

test("no more wait than may; who is forgotten makes room and is told nothing", () => {
  const { hold, told, add } = aHold();
  add("a");
  const forget = add("b");
  add("c");
  assert.equal(add("d"), undefined);

  forget?.();
  assert.ok(add("e"));
  hold.release(() => "1");

  assert.deepEqual(told, ["a 1", "c 1", "e 1"]);
});

test("who leaves while others are told is not told any more", () => {
  const { hold, told, add } = aHold();
  let forget: (() => void) | undefined;
  hold.add(limits, () => forget?.());
  forget = add("b");

  hold.release(() => "1");

  assert.deepEqual(told, []);
  assert.equal(hold.count, 0);
});

test("who waited for too long is told so, once", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const { hold, told, add } = aHold();
  add("a");
  mock.timers.tick(600);
  add("b");
  mock.timers.tick(400);
  assert.deepEqual(told, ["a late"]);

  hold.release(() => "1");
  mock.timers.tick(5_000);

  assert.deepEqual(told, ["a late", "b 1"]);
});
