import assert from "node:assert/strict";
import { test } from "node:test";
import { cached } from "../../../../control/providers/slurm/cached.ts";

test("an answer that is on its way is shared whatever its age, and forgotten when it fails", async () => {
  const answers: PromiseWithResolvers<number>[] = [];
  const number = cached(0, () => {
    answers.push(Promise.withResolvers());
    return (answers.at(-1) as PromiseWithResolvers<number>).promise;
  });
  const reads = [number.read(), number.read()];
  answers[0]?.resolve(1);
  assert.deepEqual([await Promise.all(reads), answers.length], [[1, 1], 1]);

  const failing = number.read();
  answers[1]?.reject(new Error("it failed"));
  await assert.rejects(failing, /it failed/);
  const last = number.read();
  answers[2]?.resolve(3);
  assert.deepEqual([await last, answers.length], [3, 3]);
});
