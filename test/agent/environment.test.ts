import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentOf, jobVariables } from "../../agent/environment.ts";
import { NodeSettings } from "../../contract/agent-shapes.ts";
import { taskVariables } from "../../contract/variables.ts";
import { aNode } from "../helpers/agent.ts";

const prefix = "OUTRIGGER_";

test("the table of task variables names what scripts see, no more and no less", () => {
  const node = NodeSettings.parse(aNode({}));
  const shared = jobVariables({ nodes: 1, userName: "ann" }, 1, node, 0);
  const spec = {
    jobId: 1,
    setup: "",
    run: "",
    secrets: {},
    limits: {},
    nodes: 1,
    env: shared,
    reusesSetup: false,
  };
  const demand = { cpus: 1, accelerators: 0 };
  const seen = (["setup", "run"] as const).flatMap((phase) =>
    Object.keys(environmentOf({}, "/f", { ...spec, demand }, node, { phase, gpus: [] })),
  );

  const ours = seen.filter((name) => name.startsWith(prefix)).map((name) => name.slice(10));

  assert.deepEqual([...new Set(ours)].sort(), Object.keys(taskVariables).sort());
});
