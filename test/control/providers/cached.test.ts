import assert from "node:assert/strict";
import { test } from "node:test";
import { cached } from "../../../control/providers/cached.ts";

test("callers that come while an old answer is on its way share the one after it", async () => {
  const answers: PromiseWithResolvers<number>[] = [];
  const number = cached(0, () => {
    const answer = Promise.withResolvers<number>();
    answers.push(answer);
    return answer.promise;
  });
  const [first, ...others] = [number.read(), number.read(), number.read()];
  assert.equal(answers.length, 1);
  answers[0]?.resolve(1);
  assert.equal(await first, 1);
  answers[1]?.reject(new Error("it failed"));
  for (const other of others) await assert.rejects(other, /it failed/);

  const last = number.read();
  answers[2]?.resolve(3);
  assert.deepEqual([await last, answers.length], [3, 3]);
});
