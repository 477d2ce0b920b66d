import assert from "node:assert/strict";
import { test } from "node:test";
import { openTurns, openTurnsByKey } from "../../common/turns.ts";

test("so much work goes on at once, and what waits begins in its order", async () => {
  const inTurn = openTurns(2);
  const begun: number[] = [];
  const gates = [...Array(4).keys()].map(() => Promise.withResolvers<void>());
  const works = gates.map(({ promise }, index) =>
    inTurn(async () => {
      begun.push(index);
      await promise;
      return index;
    }),
  );
  const seen = async () => {
    await new Promise(setImmediate);
    return begun.length;
  };

  assert.equal(await seen(), 2);
  gates[1]?.resolve();
  assert.equal(await works[1], 1);
  assert.equal(await seen(), 3);
  gates[0]?.reject(new Error("it failed"));
  await assert.rejects(works[0] ?? Promise.resolve(), /it failed/);
  assert.equal(await seen(), 4);
  gates[2]?.resolve();
  gates[3]?.resolve();

  assert.deepEqual([await works[2], await works[3]], [2, 3]);
  assert.deepEqual(begun, [0, 1, 2, 3]);
});

test("work that is aborted while it waits for its turn never begins", async () => {
  const inTurn = openTurns(1);
  const gate = Promise.withResolvers<void>();
  const ending = new AbortController();
  const begun: string[] = [];
  const first = inTurn(() => gate.promise);
  const aborted = inTurn(async () => begun.push("aborted"), ending.signal);
  const last = inTurn(async () => begun.push("last"), new AbortController().signal);

  ending.abort();
  await assert.rejects(aborted, { name: "AbortError" });
  await assert.rejects(
    inTurn(async () => begun.push("late"), ending.signal),
    { name: "AbortError" },
  );
  gate.resolve();
  await Promise.all([first, last]);
  assert.deepEqual(begun, ["last"]);
});

test("work of one key goes on one by one, also after a failure, and keys do not wait for each other", async () => {
  const inTurn = openTurnsByKey<string>();
  const begun: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string, until?: Promise<void>) => async () => {
    begun.push(name);
    await until;
  };
  const first = inTurn("a", work("a1", gate.promise));
  const second = inTurn("a", work("a2"));
  await inTurn("b", work("b1"));

  assert.deepEqual(begun, ["a1", "b1"]);
  gate.reject(new Error("it failed"));
  await assert.rejects(first, /it failed/);
  await second;
  await inTurn("a", work("a3"));

  assert.deepEqual(begun, ["a1", "b1", "a2", "a3"]);
});
