import assert from "node:assert/strict";
import { test } from "node:test";
import { assign, checkFits, type Holding } from "../../../agent/jobs/queue.ts";
import { JobSubmission, NodeSettings } from "../../../contract/agent-shapes.ts";
import { aNode, aSubmission } from "../../helpers/agent.ts";

const node = NodeSettings.parse(
  aNode({ cpus: 4, accelerators: { name: "H100", count: 2 }, addresses: ["a", "b"] }),
);
const held = (more: Partial<Holding>): Holding => ({ cpus: 0, accelerators: 0, gpus: [], ...more });

test("CPUs are given away until none is left", () => {
  const thirds = [held({ cpus: 1.1 }), held({ cpus: 1.1 })];

  assert.deepEqual(assign({ cpus: 1.8, accelerators: 0 }, node, thirds), []);
  assert.equal(assign({ cpus: 1.9, accelerators: 0 }, node, thirds), undefined);
});

test("accelerators are given out by index, lowest first", () => {
  const first = held({ accelerators: 1, gpus: [0] });

  assert.deepEqual(assign({ cpus: 0, accelerators: 2 }, node, []), [0, 1]);
  assert.deepEqual(assign({ cpus: 0, accelerators: 1 }, node, [first]), [1]);
  assert.equal(assign({ cpus: 0, accelerators: 2 }, node, [first]), undefined);
});

test("fractions share one accelerator, so that whole ones stay free", () => {
  const half = held({ accelerators: 0.5, gpus: [1] });

  assert.deepEqual(assign({ cpus: 0, accelerators: 0.5 }, node, [half]), [1]);
  assert.deepEqual(assign({ cpus: 0, accelerators: 0.6 }, node, [half]), [0]);
  assert.deepEqual(assign({ cpus: 0, accelerators: 1 }, node, [half]), [0]);
  assert.equal(assign({ cpus: 0, accelerators: 2 }, node, [half]), undefined);
});

const tooMuch = [
  [{ nodes: 3 }, /asks for 3 nodes, but the cluster has 2/],
  [{ demand: { cpus: 5, accelerators: 0 } }, /asks for 5 CPUs a node, but a node has 4/],
  [{ demand: { cpus: 1, accelerators: 4 } }, /asks for 4 accelerators a node, but a node has 2/],
  [{ demand: { cpus: 1, accelerators: 1.5 } }, /allocated in whole numbers/],
] as const;

for (const [more, message] of tooMuch)
  test(`a job is refused that could never start: ${JSON.stringify(more)}`, () => {
    const job = JobSubmission.parse(aSubmission("true", more));

    assert.throws(() => checkFits(job, node), { name: "ValueError", message });
  });
