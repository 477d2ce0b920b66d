import assert from "node:assert/strict";
import { test } from "node:test";
import { openQueues } from "../../../control/requests/queue.ts";

/** Work that ends by hand, and what of it has begun. */
function byHand() {
  const begun: string[] = [];
  const signals = new Map<string, AbortSignal>();
  const ends = new Map<string, () => void>();
  const run = (id: string, signal: AbortSignal) => {
    begun.push(id);
    signals.set(id, signal);
    return new Promise<void>((resolve) => {
      ends.set(id, resolve);
      signal.addEventListener("abort", () => resolve());
    });
  };
  const end = async (id: string) => {
    ends.get(id)?.();
    await new Promise(setImmediate);
  };
  return { begun, signals, run, end };
}

test("requests begin in the order they came, so many at once", async () => {
  const { begun, run, end } = byHand();
  const queues = openQueues({ long: 2, short: 1, urgent: 1 });
  for (const id of ["a", "b", "c", "d"]) queues.push("long", id);

  queues.start(run);
  assert.deepEqual(begun, ["a", "b"]);
  await end("b");
  assert.deepEqual(begun, ["a", "b", "c"]);
  queues.push("long", "e");
  await end("a");
  await end("c");
  assert.deepEqual(begun, ["a", "b", "c", "d", "e"]);
});

test("a full queue holds up no other, nor what is worked on directly", async () => {
  const { begun, run } = byHand();
  const queues = openQueues({ long: 1, short: 1, urgent: 1 });
  queues.start(run);
  queues.push("long", "slow");
  queues.push("long", "waits");

  queues.push("short", "quick");
  const direct = await queues.direct("now", async () => "done");

  assert.deepEqual(begun, ["slow", "quick"]);
  assert.equal(direct, "done");
});

test("one that steps aside gives its place to the next, and begins no other when it is back", async () => {
  const { begun, run, end } = byHand();
  const queues = openQueues({ long: 1, short: 1, urgent: 1 });
  queues.start(run);
  for (const id of ["a", "b", "c"]) queues.push("short", id);
  const { promise, resolve } = Promise.withResolvers<string>();

  const wait = queues.aside("a", promise);
  assert.deepEqual(begun, ["a", "b"]);
  resolve("back");
  assert.equal(await wait, "back");
  await end("b");
  assert.deepEqual(begun, ["a", "b"]);
  await end("a");
  assert.deepEqual(begun, ["a", "b", "c"]);
});

test("what has no place in a queue steps aside without giving one away", async () => {
  const { begun, run } = byHand();
  const queues = openQueues({ long: 1, short: 1, urgent: 1 });
  queues.start(run);
  for (const id of ["a", "b"]) queues.push("short", id);

  await queues.direct("now", () => queues.aside("now", Promise.resolve()));

  assert.deepEqual(begun, ["a"]);
});

test("what is aborted is told why; what waits is left alone", async () => {
  const { signals, run } = byHand();
  const queues = openQueues({ long: 1, short: 1, urgent: 1 });
  queues.start(run);
  queues.push("long", "a");
  queues.push("long", "b");

  queues.abort("b", "waits");
  queues.abort("a", "why");

  assert.equal(signals.get("a")?.reason, "why");
  assert.equal(signals.get("b"), undefined);
});

test("stopping aborts everything that runs, waits for it and begins nothing more", async () => {
  const { begun, signals, run } = byHand();
  const queues = openQueues({ long: 1, short: 1, urgent: 1 });
  queues.start(run);
  queues.push("long", "a");
  queues.push("long", "b");
  let directIsOver = false;
  const direct = queues.direct("now", async (signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    directIsOver = true;
    throw signal.reason;
  });
  const failed = assert.rejects(direct, /stop/);

  await queues.stop(new Error("stop"));

  await failed;
  assert.ok(directIsOver);
  assert.ok(signals.get("a")?.aborted);
  assert.deepEqual(begun, ["a"]);
});
