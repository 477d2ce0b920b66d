import assert from "node:assert/strict";
import { test } from "node:test";
import { describeDone, describeOffer } from "../../../../control/clusters/files/text.ts";

const offered = (changed: number) => ({
  ...{ missing: [], files: 2, changed, changedBytes: 10, removed: 0 },
});
const some = "workdir: 1 of 2 files changed, 10 bytes";

test("what came of files is told once where it is the same on every node, else of each by its rank", () => {
  const tell = (offers: number[], ranks: number[], nodes: number) =>
    describeDone(
      "workdir",
      offers.map((one) => describeOffer(offered(one))),
      { ranks, nodes },
    );

  assert.deepEqual(tell([1], [0], 1), [some]);
  assert.deepEqual(tell([1, 1], [0, 1], 2), [`${some} (on each of 2 nodes)`]);
  assert.deepEqual(tell([1, 0], [0, 1], 2), [
    `${some} (node 0)`,
    "workdir: 2 files, none changed (node 1)",
  ]);
  assert.deepEqual(tell([1, 1], [1, 2], 3), [`${some} (node 1)`, `${some} (node 2)`]);
});
