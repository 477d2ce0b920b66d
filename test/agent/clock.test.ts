import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { closeLogs } from "../../agent/hooks/log-size.ts";
import { beginRun, endRun } from "../../agent/hooks/results.ts";
import { getJob, startNextJob, submitJob } from "../../agent/jobs/jobs.ts";
import { moveJob } from "../../agent/jobs/move.ts";
import { beginLifecycle, getRow, putHooks } from "../../agent/lifecycles/lifecycles.ts";
import { configureNode } from "../../agent/node.ts";
import { JobSubmission, NodeSettings } from "../../contract/agent-shapes.ts";
import { aNode, aSubmission } from "../helpers/agent.ts";
import { aWorld } from "./world.ts";

const hook = { run: "true", events: ["stop" as const], timeoutSeconds: 60 };
const order = { id: "l1", event: "stop", cause: "user", because: "a test" } as const;

for (const [step, stepMs] of [
  ["forwards", 4 * 86_400_000],
  ["back", -3_600_000],
] as const) {
  test(`a clock that is set ${step} does not change how long a hook took`, (t) => {
    const { world, home, clock } = aWorld(t);
    putHooks(world, { version: "v1", hooks: [hook], env: {}, secrets: {} });
    beginLifecycle(world, { ...order, skipHooks: false, deadlineAt: null });
    beginRun(world, "l1", { index: 0, event: "stop" }, 60_000);
    clock.wall += stepMs;
    clock.monotonic += 2_000;
    endRun(world, "l1", 0, { status: "SUCCEEDED", exitCode: 0, reason: null });

    const [run] = getRow(world, "l1").runs;
    assert.equal(Number(run?.endedAt) - Number(run?.startedAt), 2_000);
    const side = () => JSON.parse(readFileSync(join(home, ".outrigger/hooks/stop.json"), "utf8"));
    assert.equal(side().endedAt, null);
    return closeLogs(world, "l1").then(() => assert.equal(side().endedAt, run?.endedAt));
  });

  test(`a clock that is set ${step} does not change how long a job took`, (t) => {
    const { world, clock } = aWorld(t);
    configureNode(world, NodeSettings.parse(aNode()));
    const { id } = submitJob(world, JobSubmission.parse(aSubmission("true")));
    startNextJob(world);
    clock.wall += stepMs;
    clock.monotonic += 1_500;
    moveJob(world, id, "FAILED");

    const { startedAt, endedAt } = getJob(world, id);
    assert.equal(Number(endedAt) - Number(startedAt), 1_500);
  });
}
