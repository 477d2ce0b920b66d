import assert from "node:assert/strict";
import { test } from "node:test";
import { startLoop, waitMs } from "../../common/loop.ts";

const turn = () => new Promise(setImmediate);
const dayMs = 86_400_000;

/** A tick that waits for the test, and how often it began. */
function aTick() {
  const state = { begun: 0, atOnce: 0, mostAtOnce: 0, end: () => {} };
  const tick = async () => {
    state.begun += 1;
    state.atOnce += 1;
    state.mostAtOnce = Math.max(state.mostAtOnce, state.atOnce);
    await new Promise<void>((resolve) => {
      state.end = resolve;
    });
    state.atOnce -= 1;
  };
  return { state, tick };
}

async function ended(loop: { stop(): Promise<void> }, state: { end(): void }): Promise<void> {
  const stopped = loop.stop();
  state.end();
  await stopped;
}

test("a loop ticks at once, one tick at a time, and again when nudged", async () => {
  const { state, tick } = aTick();
  const loop = startLoop(dayMs, tick, () => assert.fail());
  assert.equal(state.begun, 1);

  loop.nudge();
  loop.nudge();
  await turn();
  assert.equal(state.begun, 1, "the first is still on its way");
  state.end();
  await turn();
  assert.equal(state.begun, 2, "two nudges are one tick");
  state.end();
  await turn();
  loop.nudge();
  await turn();
  assert.equal(state.begun, 3);

  await ended(loop, state);
  assert.equal(state.mostAtOnce, 1);
});

test("stopping waits for the tick in flight and begins no other", async () => {
  const { state, tick } = aTick();
  const loop = startLoop(dayMs, tick, () => assert.fail());
  let isStopped = false;

  const stopped = loop.stop().then(() => {
    isStopped = true;
  });
  loop.nudge();
  await turn();
  assert.equal(isStopped, false);
  state.end();
  await stopped;

  assert.equal(state.begun, 1);
});

test("a tick is told that the loop stops", async () => {
  const loop = startLoop(
    dayMs,
    (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    () => assert.fail(),
  );

  await loop.stop();
});

test("a tick that throws is told, and does not end the loop", async () => {
  const failures: unknown[] = [];
  const loop = startLoop(
    dayMs,
    () => Promise.reject(new Error("boom")),
    (error) => {
      failures.push(error);
    },
  );
  await turn();

  loop.nudge();
  await turn();
  await loop.stop();

  assert.equal(failures.length, 2);
});

test("ticks come about as often as asked; each failure doubles the wait, up to a minute", () => {
  assert.deepEqual(
    [0, 1, 2, 3, 1_000].map((failures) => waitMs(10_000, failures, 0.5)),
    [10_000, 20_000, 40_000, 60_000, 60_000],
  );
  assert.deepEqual([waitMs(10_000, 0, 0), Math.round(waitMs(10_000, 0, 1))], [8_000, 12_000]);
  assert.equal(waitMs(600_000, 0, 0.5), 600_000, "a slow loop stays slow");
  assert.equal(waitMs(600_000, 3, 0.5), 600_000);
});
