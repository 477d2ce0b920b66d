import assert from "node:assert/strict";
import { test } from "node:test";
import { openChanges } from "../../common/changes.ts";

const never = new AbortController().signal;
const turn = () => new Promise(setImmediate);

test("whoever waits looks at once, then after each change of the key", async () => {
  const changes = openChanges();
  let value = 0;
  let looks = 0;
  const found = changes.until(
    "a",
    async () => {
      looks += 1;
      return value === 2 ? "two" : undefined;
    },
    never,
  );
  await turn();

  for (const next of [1, 2]) {
    value = next;
    changes.notify("b");
    changes.notify("a");
    await turn();
  }

  assert.equal(await found, "two");
  assert.equal(looks, 3);
});

test("a change while somebody looks is not missed", async () => {
  const changes = openChanges();
  let isThere = false;
  const { promise: looking, resolve: goOn } = Promise.withResolvers<void>();

  const found = changes.until(
    "a",
    async () => {
      const seen = isThere;
      await looking;
      return seen || undefined;
    },
    never,
  );
  isThere = true;
  changes.notify("a");
  goOn();

  assert.equal(await found, true);
});

test("false, zero and null are finds", async () => {
  const changes = openChanges();

  for (const value of [false, 0, "", null])
    assert.equal(await changes.until("a", async () => value, never), value);
});

test("everyone who waits is woken", async () => {
  const changes = openChanges();
  let isThere = false;
  const all = [1, 2, 3].map((id) =>
    changes.until("a", async () => (isThere ? id : undefined), never),
  );
  await turn();

  isThere = true;
  changes.notify("a");

  assert.deepEqual(await Promise.all(all), [1, 2, 3]);
});

test("waiting ends with the reason of the abort, at once or before it began", async () => {
  const changes = openChanges();
  const abort = new AbortController();
  const waiting = changes.until("a", async () => undefined, abort.signal);
  await turn();

  abort.abort(new Error("enough"));

  await assert.rejects(waiting, /enough/);
  await assert.rejects(
    changes.until("a", async () => 1, abort.signal),
    /enough/,
  );
});

test("what a look throws ends the waiting", async () => {
  const changes = openChanges();

  await assert.rejects(
    changes.until("a", () => Promise.reject(new Error("boom")), never),
    /boom/,
  );
});
