import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../../agent/config.ts";
import type { Hook, HookEvent } from "../../../contract/hooks.ts";
import { type PodNode, podOf } from "../../../control/providers/pod.ts";

const hook = (timeoutSeconds: number, ...events: HookEvent[]): Hook => ({
  run: "true",
  events,
  timeoutSeconds,
});

const pod = (hooks: readonly Hook[], more: Partial<PodNode> = {}) =>
  podOf({
    name: "demo-0",
    image: "debian:13",
    command: ["outrigger", "agent"],
    offer: { cpus: 2, memoryGb: 4, accelerators: null },
    hooks,
    ...more,
  });

test("a pod has as long to leave as its preemption hooks take together, and then some", () => {
  const upload = hook(120, "stop", "preemption");
  const leave = hook(40, "preemption");
  const other = hook(3600, "stop", "down");
  const cases: [readonly Hook[], number][] = [
    [[], 30],
    [[other], 30],
    [[hook(10, "preemption")], 30],
    [[upload], 135],
    [[upload, other, leave], 175],
    [[upload, hook(3600, "preemption")], 600],
  ];

  for (const [hooks, seconds] of cases)
    assert.equal(pod(hooks).spec.terminationGracePeriodSeconds, seconds);
  const { spec } = pod([upload, leave], { mostGraceSeconds: 60 });
  assert.equal(spec.terminationGracePeriodSeconds, 60);
});

test("the agent in a pod takes SIGTERM for a notice, and knows how long it has", () => {
  const [container] = pod([hook(120, "preemption")]).spec.containers;

  const env = Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? []);
  const { onTerm, graceMs } = readConfig({ HOME: "/root", ...env });

  assert.deepEqual({ onTerm, graceMs }, { onTerm: "preemption", graceMs: 135_000 });
});

test("a pod gets the processors, memory and accelerators of its offer, no more and no less", () => {
  const accelerators = { name: "H100", count: 8 };
  const [container] = pod([], { offer: { cpus: 0.5, memoryGb: 1.5, accelerators } }).spec
    .containers;

  const resources = { cpu: "0.5", memory: "1610612736", "nvidia.com/gpu": "8" };
  assert.deepEqual(container?.resources, { requests: resources, limits: resources });
});
