import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Candidate, type Policy, pick } from "../../../control/balancer/policies.ts";

const at = (id: number, open = 0, capacity = 1): Candidate => ({ id, open, capacity });

/** Who is chosen in so many turns, one after the other, from candidates that do not change. */
function turns(policy: Policy, candidates: readonly Candidate[], count: number, lastId = 0) {
  const chosen: number[] = [];
  for (let last = lastId; chosen.length < count; ) {
    last = pick(policy, candidates, last)?.id ?? assert.fail("nobody was chosen");
    chosen.push(last);
  }
  return chosen;
}

test("round robin goes round by number, whoever comes or goes", () => {
  assert.deepEqual(turns("round_robin", [at(3), at(1), at(2)], 4), [1, 2, 3, 1]);
  assert.deepEqual(turns("round_robin", [at(1), at(3)], 2, 1), [3, 1], "2 has gone");
  assert.deepEqual(turns("round_robin", [at(1), at(2), at(3)], 2, 1), [2, 3], "2 is back");
  assert.deepEqual(turns("round_robin", [at(1), at(2)], 2, 3), [1, 2], "the last one has gone");
});

test("the fewest requests under way get the next one; of several, it is the next in turn", () => {
  assert.equal(pick("least_load", [at(1, 2), at(2, 1), at(3, 2)], 0)?.id, 2);
  assert.deepEqual(turns("least_load", [at(1, 1), at(2, 1), at(3, 2)], 3), [1, 2, 1]);
});

test("what each replica can take counts, where that is known", () => {
  const candidates = [at(1, 2, 1), at(2, 6, 4), at(3, 3, 2)];
  assert.deepEqual(turns("instance_aware_least_load", candidates, 3), [2, 3, 2]);
  assert.equal(pick("least_load", candidates, 0)?.id, 1);
});

test("nobody is chosen from nobody", () => {
  assert.equal(pick("round_robin", [], 7), undefined);
});

const policies: Policy[] = ["round_robin", "least_load", "instance_aware_least_load"];
const candidate = fc.record({
  id: fc.integer({ min: 1, max: 30 }),
  open: fc.nat(3),
  capacity: fc.constantFrom(0.5, 1, 2),
});
const several = fc.uniqueArray(candidate, { minLength: 1, selector: ({ id }) => id });

for (const policy of policies)
  test(`${policy}: the order in which candidates stand makes no difference`, () => {
    fc.assert(
      fc.property(several, fc.nat(31), (candidates, lastId) => {
        const sorted = candidates.toSorted((a, b) => a.id - b.id);
        assert.equal(pick(policy, candidates, lastId)?.id, pick(policy, sorted, lastId)?.id);
      }),
    );
  });

test("round robin gives each of those that stay as many turns, one at most apart, while others come and go", () => {
  const members = fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 9 })), { minLength: 1 });
  fc.assert(
    fc.property(members, (changes) => {
      const staying = [10, 20, 30];
      const given = new Map(staying.map((id) => [id, 0]));
      let last = 0;
      for (const others of changes) {
        last =
          pick(
            "round_robin",
            [...staying, ...others].map((id) => at(id)),
            last,
          )?.id ?? 0;
        if (given.has(last)) given.set(last, (given.get(last) ?? 0) + 1);
      }
      const counts = [...given.values()];
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, String(counts));
    }),
  );
});
