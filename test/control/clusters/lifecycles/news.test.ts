import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookRun, Lifecycle } from "../../../../contract/lifecycle-shapes.ts";
import { hookOverAt } from "../../../../control/clusters/hooks/time.ts";
import { merged, newsOf, without } from "../../../../control/clusters/lifecycles/news.ts";
import type { StoredLifecycle } from "../../../../control/clusters/lifecycles/schema.ts";
import { aLifecycle } from "../../../helpers/clusters.ts";

const aRun = (more: Partial<HookRun> = {}): HookRun => ({
  index: 1,
  event: "stop",
  status: "SUCCEEDED",
  exitCode: 0,
  reason: null,
  startedAt: 1_000,
  endedAt: 2_234,
  timeoutSeconds: 60,
  ...more,
});

const told = (more: Partial<Lifecycle> = {}): Lifecycle => {
  const { clusterId: _, rank: __, skipsHooks: ___, status: ____, ...rest } = aLifecycle();
  return { ...rest, status: "HOOKS", logs: [], ...more };
};

const one = { nodes: 1 };
const linesOf = (before: StoredLifecycle, now: StoredLifecycle) =>
  newsOf(one, before, now, 0).map(({ line }) => line);
const lines: [run: Partial<HookRun>, line: string][] = [
  [{}, "hook 2 of 3 (stop) succeeded after 1.2 s"],
  [
    { status: "FAILED", exitCode: 3 },
    "hook 2 of 3 (stop) exited with 3 after 1.2 s; the stop continues",
  ],
  [
    { status: "FAILED", exitCode: 3, tail: "saving\nno space left" },
    "hook 2 of 3 (stop) exited with 3 after 1.2 s; the stop continues; it printed last:\n  saving\n  no space left",
  ],
  [
    { status: "FAILED", exitCode: 137 },
    "hook 2 of 3 (stop) exited with 137 (killed by SIGKILL, perhaps out of memory) after 1.2 s; the stop continues",
  ],
  [{ tail: "saved" }, "hook 2 of 3 (stop) succeeded after 1.2 s"],
  [
    { status: "FAILED", exitCode: null, reason: "no bash", startedAt: null },
    "hook 2 of 3 (stop) failed: no bash; the stop continues",
  ],
  [
    { status: "TIMED_OUT", exitCode: 124, event: "down" },
    "hook 2 of 3 (down) was ended after 1.2 s, as it had 60 s (code 124); the teardown continues",
  ],
  [
    { status: "INTERRUPTED", reason: "the node went", event: "preemption" },
    "hook 2 of 3 (preemption) was interrupted after 1.2 s: the node went",
  ],
  [
    { status: "SKIPPED", reason: "down by ann", startedAt: null, endedAt: null },
    "hook 2 of 3 (stop) was skipped: down by ann; the stop continues",
  ],
];
for (const [run, line] of lines)
  test(`news: ${line}`, () => {
    const events = [run.event ?? "stop"];
    const now = aLifecycle({ hooks: 3, events, runs: [aRun(run)] });

    assert.deepEqual(linesOf(aLifecycle({ hooks: 3, events }), now), [line]);
    assert.deepEqual(linesOf(now, now), [], "told once");
  });

const skipped = aRun({ status: "SKIPPED", reason: "why", startedAt: null, endedAt: null });
const ways: [what: string, more: Partial<StoredLifecycle>, comes: string][] = [
  ["was taken back", { status: "CANCELLED", endedAt: 1 }, "; the cluster stays up"],
  ["became a teardown", { events: ["down"] }, "; the teardown continues"],
  ["met a preemption", { events: ["preemption", "stop"] }, "; the stop continues"],
  ["was taken back while its node goes", { events: ["preemption"] }, ""],
];
for (const [what, more, comes] of ways)
  test(`what comes after a hook that was skipped, of a stop that ${what}`, () => {
    const now = aLifecycle({ hooks: 3, ...more, runs: [skipped] });
    const before = aLifecycle({ ...now, runs: [] });

    assert.deepEqual(linesOf(before, now), [`hook 2 of 3 (stop) was skipped: why${comes}`]);
  });

test("news of a hook is from when it ended, but never from the future", () => {
  const at = (run: HookRun, now: number) =>
    newsOf(one, undefined, aLifecycle({ runs: [run] }), now).map((news) => news.at);

  assert.deepEqual(at(aRun(), 9_000), [2_234]);
  assert.deepEqual(at(aRun(), 2_000), [2_000]);
  assert.deepEqual(at(skipped, 9_000), [9_000]);
});

test("what has ended or is left to the provider stays so, but results are still taken", () => {
  for (const status of ["LEAVING", "DONE"] as const) {
    const running = aRun({ index: 0, status: "RUNNING", endedAt: null });
    const before = aLifecycle({ status, endedAt: status === "DONE" ? 1 : null, runs: [running] });

    const now = merged(
      "c1",
      0,
      before,
      told({ status: "READY", runs: [aRun({ index: 0 })] }),
      9_000,
    );

    assert.deepEqual([now.status, now.endedAt], [before.status, before.endedAt]);
    assert.equal(now.runs[0]?.status, "SUCCEEDED");
  }
});

test("of what a hook printed last little is kept, and nothing that steers a terminal", () => {
  const tail = `${"x".repeat(9_000)}\n\u001b[31mred\u001b[0m\r\u0007\n\n${"a\tb\n".repeat(30)}last`;
  const kept = (given: string) =>
    merged("c1", 0, undefined, told({ runs: [aRun({ tail: given })] }), 9_000).runs[0]?.tail ?? "";

  assert.equal(kept(tail), `${"a\tb\n".repeat(19)}last`);
  assert.equal(
    kept(`${"y".repeat(500)}\n\u001b[31mred\u001b[0m\r\u0007`),
    `${"y".repeat(200)}\nred`,
  );
  assert.equal(kept(kept(tail)), kept(tail), "what is kept stays the same");
});

test("an answer that a later one overtook changes nothing", () => {
  const before = aLifecycle({ revision: 7, status: "READY", runs: [aRun({ index: 0 })] });
  const running = aRun({ index: 0, status: "RUNNING", endedAt: null });
  const older: Partial<Lifecycle>[] = [
    { status: "HOOKS", runs: [running] },
    { status: "HOOKS", runs: [aRun(), aRun({ index: 2 })] },
    { status: "DONE", endedAt: 9, runs: [] },
  ];

  for (const more of older)
    assert.deepEqual(merged("c1", 0, before, told({ revision: 6, ...more }), 9_000), before);
});

test("a lifecycle that was ready and became a teardown runs hooks again", () => {
  const before = aLifecycle({ revision: 7, status: "READY", runs: [aRun({ index: 0 })] });
  const runs = [aRun({ index: 0 }), aRun({ event: "down", status: "RUNNING", endedAt: null })];

  const now = merged("c1", 0, before, told({ revision: 8, events: ["down"], runs }), 9_000);

  const heard = runs.map((run) => (run.status === "RUNNING" ? { ...run, heardAt: 9_000 } : run));
  assert.deepEqual([now.status, now.events, now.runs], ["HOOKS", ["down"], heard]);
});

test("what the head leads is as the head tells it", () => {
  const now = merged(
    "c1",
    2,
    aLifecycle({ rank: 2, skipsHooks: true }),
    told({ status: "READY" }),
    9_000,
  );

  assert.deepEqual([now.status, now.rank, now.skipsHooks], ["READY", 2, true]);
  assert.equal(Object.hasOwn(now, "logs"), false);
});

test("a hook whose node goes was interrupted", () => {
  const running = aRun({ index: 0, status: "RUNNING", endedAt: null });

  const now = without(aLifecycle({ runs: [running, aRun()] }), "DONE", 9_000);

  assert.deepEqual(
    now.runs.map(({ status }) => status),
    ["INTERRUPTED", "SUCCEEDED"],
  );
  assert.deepEqual([now.status, now.endedAt], ["DONE", 9_000]);
  assert.equal(without(aLifecycle(), "LEAVING", 9_000).endedAt, null);
});

for (const startedAt of [1_000, 99_000_000])
  test(`a hook that began at ${startedAt} by its node's clock has its time from when control heard of it`, () => {
    const running = aRun({ status: "RUNNING", startedAt, endedAt: null });
    const first = merged("c1", 0, undefined, told({ runs: [running] }), 50_000);
    const again = merged("c1", 0, first, told({ revision: 99, runs: [running] }), 70_000);

    assert.equal(hookOverAt(first), 50_000 + 60_000 + 10_000);
    assert.equal(hookOverAt(again), hookOverAt(first));
  });

for (const deadlineAt of [1_000, 99_000_000])
  test(`a deadline that is ${deadlineAt} by its node's clock is as far away as the node says`, () => {
    const first = merged("c1", 0, undefined, told({ deadlineAt, leftMs: 30_000 }), 50_000);
    const again = merged("c1", 0, first, told({ deadlineAt, leftMs: 19_995 }), 60_000);
    const newer = { revision: first.revision + 1, deadlineAt, leftMs: 5_000 };
    const nearer = merged("c1", 0, again, told(newer), 61_000);

    assert.equal(first.deadlineAt, 80_000);
    assert.deepEqual(again, first, "the way of an answer moves no deadline");
    assert.equal(nearer.deadlineAt, 66_000);
  });
