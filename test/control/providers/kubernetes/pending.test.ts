import assert from "node:assert/strict";
import { test } from "node:test";
import { containerName } from "../../../../control/doors/kubernetes/exec.ts";
import type { KubeEvent, Pod } from "../../../../control/providers/kubernetes/objects.ts";
import { pendingOf, refuseUnstarted } from "../../../../control/providers/kubernetes/pending.ts";
import { aPod } from "./a-pod.ts";

test("a pod that waits says for what", () => {
  const says = (
    status: Partial<Pod["status"]>,
    why: string,
    rest: object,
    events: KubeEvent[] = [],
  ) => assert.deepEqual(pendingOf(aPod(status), events), { why, ...rest });
  const lacking = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
  const message = `${lacking} no new claims to deallocate, preemption: 0/1 nodes are available`;
  const unscheduled = { conditions: [{ type: "PodScheduled", status: "False" as const, message }] };
  says(unscheduled, lacking, { lacks: "place" });
  const scheduled = { conditions: [{ type: "PodScheduled", status: "True" as const }] };
  const waiting = { reason: "ErrImagePull", message: "not found" };
  const containerStatuses = [{ name: "node", state: { waiting } }];
  says({ ...scheduled, containerStatuses }, "ErrImagePull: not found", { lacks: "pod" });
  const warning = { type: "Warning", reason: "FailedMount", message: "no disk" };
  const unplaced = { type: "Warning", reason: "FailedScheduling", message: lacking };
  const warned = { lacks: "time", isWarned: true };
  says({}, `FailedScheduling: ${lacking}`, warned, [unplaced]);
  says(scheduled, "FailedMount: no disk", warned, [warning, unplaced]);
});

test("a pod that cannot start fails its launch if its image has no shell, else only there", () => {
  const noShell = 'exec: "/bin/sh": no such file';
  const start = (message: string, reason = "StartError", kind = "containerStatuses") => {
    const terminated = { reason, message, exitCode: 128 };
    refuseUnstarted(aPod({ [kind]: [{ name: containerName, state: { terminated } }] }));
  };
  const capacity = { details: { refusal: "capacity" } };

  const message = `StartError: ${noShell}`;
  assert.throws(() => start(noShell), { message, details: {} });
  assert.throws(() => start(noShell, "StartError", "initContainerStatuses"), capacity);
  assert.throws(() => start("prestart hook #0: libnvidia-ml.so.1: no such file"), capacity);
  start(noShell, "Error");
  refuseUnstarted(aPod({}));
});

test("a pod in a queue of Kueue waits for as long as it takes", () => {
  const message = "Scheduling is blocked due to non-empty scheduling gates";
  const gated = { type: "PodScheduled", status: "False" as const, reason: "SchedulingGated" };
  const { why, lacks } = pendingOf(aPod({ conditions: [{ ...gated, message }] }));
  assert.deepEqual([why, lacks], [message, "time"]);
});

test("a pod whose disk the scheduler does not know yet waits on", () => {
  const disk = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
  const why = `0/1 nodes are available: 1 ${disk}.`;
  const message = `${why} preemption: 0/1 nodes are available: 1 Preemption is not helpful.`;
  const conditions = [{ type: "PodScheduled", status: "False" as const, message }];
  assert.deepEqual(pendingOf(aPod({ conditions })), { why, lacks: "time" });
});
