import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { pino } from "pino";
import type { Context } from "../../control/context.ts";
import {
  type Aside,
  nudge,
  obsolete,
  startReconciler,
  wakeForWish,
} from "../../control/reconciler.ts";
import { until } from "../helpers/agent.ts";

const turn = () => new Promise(setImmediate);

/** As much of the world as a reconciler needs, in which nothing has failed yet. */
function aContext(): Context {
  const nothing = { selectAll: () => nothing, where: () => nothing, execute: async () => [] };
  const log = pino({ level: "silent" });
  const lease = { check: async () => {} };
  const stores = { lease, db: { selectFrom: () => nothing }, batch: async () => {} };
  return { log, reconciling: new Map(), now: () => new Date(), ...stores } as unknown as Context;
}

/** A reconciler whose passes end by hand. */
function byHand(t: TestContext, { atOnce = 10, due = [] as string[] } = {}) {
  const begun: string[] = [];
  const running = new Map<string, PromiseWithResolvers<void>>();
  const signals = new Map<string, AbortSignal>();
  const ctx = aContext();
  const reconciling = startReconciler(ctx, {
    name: "thing",
    everyMs: 86_400_000,
    atOnce,
    due: async () => due,
    reconcile(_ctx, id, signal) {
      assert.ok(!running.has(id), `${id} is worked on twice at once`);
      begun.push(id);
      signals.set(id, signal);
      const pass = Promise.withResolvers<void>();
      running.set(id, pass);
      return pass.promise.finally(() => running.delete(id));
    },
  });
  const end = async (id: string, error?: Error) => {
    const pass = running.get(id);
    if (error === undefined) pass?.resolve();
    else pass?.reject(error);
    await turn();
    await turn();
  };
  const stop = async () => {
    const stopped = reconciling.stop();
    for (const { resolve } of running.values()) resolve();
    await stopped;
  };
  t.after(stop);
  return { ctx, begun, signals, reconciling, end, stop };
}

/** A step that goes on until it is broken off. */
const untilBrokenOff = {
  what: "works",
  lane: "cloud",
  user: "ann",
  run: (signal: AbortSignal) =>
    new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason)),
    ),
};

/** A reconciler with one place, whose passes say what came of their step. */
function withSteps(t: TestContext, pass: (id: string, aside: Aside) => Promise<string>) {
  const said: string[] = [];
  const ctx = aContext();
  const reconciling = startReconciler(ctx, {
    name: "thing",
    everyMs: 86_400_000,
    atOnce: 1,
    due: async () => [],
    async reconcile(_ctx, id, _signal, aside) {
      said.push(`${id}: ${await pass(id, aside)}`);
    },
  });
  t.after(() => reconciling.stop());
  return { ctx, said, reconciling };
}

test("a nudged row is worked on at once, and the nudge resolves when it was", async (t) => {
  const { begun, reconciling, end } = byHand(t);
  let isOver = false;

  const nudged = reconciling.nudge("a").then(() => {
    isOver = true;
  });
  assert.deepEqual(begun, ["a"]);
  await turn();
  assert.equal(isOver, false);
  await end("a");

  await nudged;
});

test("nudges during a pass are one more pass, never two at once", async (t) => {
  const { begun, reconciling, end } = byHand(t);
  void reconciling.nudge("a");

  const later = [reconciling.nudge("a"), reconciling.nudge("a")];
  await end("a");
  assert.deepEqual(begun, ["a", "a"]);
  await end("a");

  await Promise.all(later);
  assert.deepEqual(begun, ["a", "a"]);
});

test("no more rows than allowed are worked on at once; a slow one holds up no other", async (t) => {
  const { begun, reconciling, end } = byHand(t, { atOnce: 2 });
  for (const id of ["slow", "b", "c", "d"]) void reconciling.nudge(id);
  void reconciling.nudge("slow");

  await end("b");
  await end("c");
  assert.deepEqual(begun, ["slow", "b", "c", "d"]);
});

test("rows that are due are looked for at the start", async (t) => {
  const { begun } = byHand(t, { due: ["a", "b"] });
  await turn();

  assert.deepEqual(begun, ["a", "b"]);
});

test("a row whose pass failed is tried again later, and later still", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(Math, "random", () => 0.5);
  const { begun, reconciling, end } = byHand(t);
  void reconciling.nudge("a");

  for (const waitMs of [500, 1_000, 2_000]) {
    const before = begun.length;
    await end("a", new Error("boom"));
    t.mock.timers.tick(waitMs - 1);
    assert.equal(begun.length, before);
    t.mock.timers.tick(1);
    assert.equal(begun.length, before + 1);
  }
  await end("a");
  t.mock.timers.tick(60_000);
  assert.equal(begun.length, 4, "one that is well is left alone");
});

test("rows that fail again and again leave places for others, however many they are", async (t) => {
  const { begun, reconciling, end } = byHand(t, { atOnce: 4 });
  const failing = ["a", "b", "c", "d"];
  for (const id of failing) void reconciling.nudge(id);
  for (const id of failing) await end(id, new Error("away"));

  for (const id of [...failing, "well"]) void reconciling.nudge(id);
  assert.deepEqual(begun.slice(4), ["a", "b", "well"]);
  await end("a", new Error("still away"));
  await end("b");

  assert.deepEqual(begun.slice(4), ["a", "b", "well", "c", "d"]);
});

test("a step leaves its place to other passes, and its pass goes on once there is one again", async (t) => {
  const steps = new Map<string, PromiseWithResolvers<string>>();
  const { said, reconciling } = withSteps(t, async (id, aside) => {
    const step = Promise.withResolvers<string>();
    steps.set(id, step);
    const run = () => step.promise;
    return aside({ what: "works", lane: id, user: "ann", isObsolete: async () => false, run });
  });

  const nudged = ["a", "b"].map((id) => reconciling.nudge(id));
  await until(() => steps.size === 2 || undefined);
  steps.get("b")?.resolve("two");
  steps.get("a")?.resolve("one");
  await Promise.all(nudged);

  assert.deepEqual(said.sort(), ["a: one", "b: two"]);
});

test("a new wish breaks off a step that does not serve it, and no other; a nudge asks nothing", async (t) => {
  let isObsolete = false;
  let looks = 0;
  const { ctx, said, reconciling } = withSteps(t, async (_id, aside) => {
    const step = {
      ...untilBrokenOff,
      async isObsolete() {
        looks += 1;
        return isObsolete;
      },
    };
    return aside(step).catch((error) => (error === obsolete ? "broken off" : "failed"));
  });

  const first = reconciling.nudge("a");
  void reconciling.nudge("a");
  await turn();
  assert.equal(looks, 0);
  wakeForWish(ctx, "thing", "a");
  await until(() => looks === 1 || undefined);
  assert.deepEqual(said, []);
  isObsolete = true;
  wakeForWish(ctx, "thing", "a");

  await first;
  assert.deepEqual(said, ["a: broken off"]);
});

test("a wish between two steps breaks off the one that comes then", async (t) => {
  const between = Promise.withResolvers<void>();
  const { ctx, said, reconciling } = withSteps(t, async (_id, aside) => {
    await between.promise;
    const step = { ...untilBrokenOff, isObsolete: async () => true };
    return aside(step).catch((error) => (error === obsolete ? "broken off" : "failed"));
  });

  const first = reconciling.nudge("a");
  wakeForWish(ctx, "thing", "a");
  between.resolve();

  await first;
  assert.deepEqual(said, ["a: broken off"]);
});

test("a nudge does not wait for the time of a failed row", async (t) => {
  const { begun, reconciling, end } = byHand(t);
  const failed = reconciling.nudge("a");
  await end("a", new Error("boom"));
  await failed;

  void reconciling.nudge("a");

  assert.deepEqual(begun, ["a", "a"]);
});

test("stopping aborts the passes, waits for them and begins no other", async (t) => {
  const { begun, signals, reconciling, end } = byHand(t, { atOnce: 1 });
  void reconciling.nudge("a");
  const waiting = [reconciling.nudge("a"), reconciling.nudge("b")];
  let isStopped = false;

  const stopped = reconciling.stop().then(() => {
    isStopped = true;
  });
  await turn();
  assert.ok(signals.get("a")?.aborted);
  assert.equal(isStopped, false);
  await end("a");
  await stopped;

  await Promise.all(waiting);
  await reconciling.nudge("c");
  assert.deepEqual(begun, ["a"]);
});

test("whoever waits for a pass may give up; nobody's reconciler looks at nothing", async (t) => {
  const { ctx } = byHand(t);
  const abort = new AbortController();
  const waiting = nudge(ctx, "thing", "a", abort.signal);

  abort.abort(new Error("enough"));

  await assert.rejects(waiting, /enough/);
  await nudge(ctx, "unknown", "a");
});
