import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { persist, within } from "../../../control/doors/ssh/trouble.ts";

const late = () => new AppError("TimeoutError", "late");
const never = new Promise<never>(() => {});

/** Holds this process up. */
const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test("what takes too long, or is not wanted any more, is waited for no longer", async () => {
  await assert.rejects(within(never, 20, late), { message: "late" });
  const gone = AbortSignal.abort(new Error("gone"));
  await assert.rejects(within(never, 60_000, late, gone), { message: "gone" });
  assert.equal(await within(Promise.resolve("here"), 60_000, late), "here");
});

test("what came while this process was held up for too long is not late", async () => {
  const answer = within(readFile(import.meta.filename), 500, late);

  sleep(1_000);

  assert.ok((await answer).length > 0);
});

test("what fails for a moment is not tried again once it is not wanted any more", async () => {
  const over = new AbortController();
  let tries = 0;
  const attempt = async () => {
    tries += 1;
    setImmediate(() => over.abort(new Error("gone")));
    throw late();
  };

  const persisting = persist(() => true, attempt, { signal: over.signal });

  await assert.rejects(persisting, { message: "gone" });
  assert.equal(tries, 1);
});
