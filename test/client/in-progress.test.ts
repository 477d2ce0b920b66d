import assert from "node:assert/strict";
import { test } from "node:test";
import { autostopOf, underWayOf } from "../../client/commands/in-progress.ts";
import type { ClusterStatusRecord, LifecycleRecord } from "../../contract/records/clusters.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl } from "./fake-control.ts";
import { two } from "./usual-routes.ts";

const now = new Date(1_700_000_000_000);
const inSeconds = (seconds: number) => 1_700_000_000 + seconds;

const aStop: LifecycleRecord = {
  id: "l1",
  action: "stop",
  cause: "user",
  because: "stop by ann",
  phase: "HOOKS",
  node: 0,
  started_at: inSeconds(-60),
  deadline_at: null,
  hook: { index: 1, of: 3, started_at: inSeconds(-41), timeout: 3600 },
  hooks_run: [],
};

const preempted = { action: "preemption", because: "AWS", deadline_at: inSeconds(27) } as const;

/** What of a stop is different, how many nodes there are, and what is said of it. */
const lifecycles: readonly [Partial<LifecycleRecord>, number, string][] = [
  [{}, 1, "stopping: hook 2 of 3, 41s (stop by ann)"],
  [{ action: "down", because: "down by ann" }, 1, "going down: hook 2 of 3, 41s (down by ann)"],
  [{ hook: null }, 1, "stopping: hooks (stop by ann)"],
  [{ hook: null, phase: "JOBS" }, 1, "stopping: ending jobs (stop by ann)"],
  [{ hook: null, phase: "LEAVING" }, 1, "stopping: nodes leave (stop by ann)"],
  [{ phase: "CANCELLED" }, 1, "taken back: hook 2 of 3, 41s (stop by ann)"],
  [preempted, 1, "taken away: hook 2 of 3, 41s, gone in 27s (AWS)"],
  [{ ...preempted, node: 1 }, 2, "node 1 taken away: hook 2 of 3, 41s, gone in 27s (AWS)"],
  [{ ...preempted, deadline_at: inSeconds(-1) }, 1, "taken away: hook 2 of 3, 41s, gone now (AWS)"],
];

for (const [more, nodes, wanted] of lifecycles)
  test(`what is under way: ${wanted}`, () => {
    assert.equal(underWayOf({ lifecycle: { ...aStop, ...more }, nodes }, now), wanted);
  });

const idle = (stops_at: number | null, ...kept_alive_by: string[]) => ({
  since: null,
  stops_at,
  kept_alive_by,
});

/** Of a record, and what its autostop is shown as. */
const timers: readonly [Partial<ClusterStatusRecord>, string][] = [
  [{ autostop: -1 }, "-"],
  [{}, "10m"],
  [{ to_down: true }, "10m (down)"],
  [{ idle: idle(inSeconds(250)) }, "10m (stops in 4m)"],
  [{ idle: idle(inSeconds(250)), to_down: true }, "10m (down in 4m)"],
  [{ idle: idle(inSeconds(0)) }, "10m (stops now)"],
  [{ idle: idle(null, "job 3") }, "10m (waits for job 3)"],
  [{ idle: idle(null, "hook 1 of 2 (stop)"), to_down: true, lifecycle: aStop }, "10m"],
  [
    {
      idle: idle(null, "hook 1 of 2 (stop)"),
      lifecycle: { ...aStop, phase: "CANCELLED" },
    },
    "10m (waits for hook 1 of 2 (stop))",
  ],
  [{ idle: idle(null, "job 3", "ssh"), to_down: true }, "10m (down, waits for job 3 +1)"],
];

for (const [more, wanted] of timers)
  test(`autostop is shown as ${wanted}`, () => {
    const row = { autostop: 10, to_down: false, ...more } as ClusterStatusRecord;
    assert.equal(autostopOf(row, now), wanted);
  });

test("status shows what is under way where something is, and fits the terminal", async (t) => {
  const [dev, dev2] = two.result as object[];
  const busy = { result: [{ ...dev, lifecycle: aStop }, dev2] };
  const control = await fakeControl(t, { "POST /status": busy });
  const outrigger = await commandLine(t, control.endpoint);

  const wide = await outrigger(["status"]);
  const narrow = await outrigger(["status"], { columns: 80, env: { NO_COLOR: "1" } });
  const verbose = await outrigger(["status", "-v"], { columns: 80, env: { NO_COLOR: "1" } });
  const whole = await outrigger(["status", "-v"], { columns: 300, env: { NO_COLOR: "1" } });
  const json = await outrigger(["status", "-o", "json"]);

  assert.match(wide.stdout, /^NAME +STATUS +UNDER WAY /m);
  assert.match(wide.stdout, /^dev +UP +stopping: hook 2 of 3, .* \(stop by ann\) /m);
  assert.match(wide.stdout, /^dev-2 +STOPPED +- /m);
  assert.match(narrow.stdout, /stopping: hook 2 of 3, .* \(stop by/);
  assert.match(narrow.stdout, /^NAME +STATUS +UNDER WAY +INFRA +AUTOSTOP$/m);
  assert.match(verbose.stdout, /^NAME +dev\nUSER +ana\n(.+\n)+\nNAME +dev-2\n/);
  assert.match(verbose.stdout, /^UNDER WAY +stopping: hook 2 of 3, .* \(stop by ann\)$/m);
  assert.match(whole.stdout, /RESOURCES +AUTOSTOP +LAUNCHED +WORKSPACE +LAST EVENT +COMMAND/);
  assert.ok(narrow.stdout.split("\n").every((line) => line.length <= 80));
  const [{ lifecycle }] = JSON.parse(json.stdout);
  assert.deepEqual([lifecycle.phase, lifecycle.started_at], ["HOOKS", "2023-11-14T22:12:20.000Z"]);
});

test("whoever reads a name that was cut is told what shows it whole, and when a stop comes is cut nowhere", async (t) => {
  const [dev] = two.result as object[];
  const name = "a-cluster-with-a-name-that-nobody-would-type-out-by-hand";
  const idle = { stops_at: now.getTime() / 1000 + 240, kept_alive_by: [] };
  const resources_str = "2x(cpus=2, mem=24)";
  const row = { ...dev, name, idle, autostop: 10, to_down: false, resources_str };
  const control = await fakeControl(t, { "POST /status": { result: [row] } });
  const outrigger = await commandLine(t, control.endpoint);
  const at = (columns: number) => outrigger(["status"], { columns, env: { NO_COLOR: "1" } });

  const [narrow, wide] = [await at(80), await at(200)];

  assert.match(
    narrow.stdout,
    /^a-cluster-with-a-name-th\S*… .* 2x\(cpus=2, mem=24\) .*10m \(.*\)/m,
  );
  assert.match(narrow.stderr, /^Some were cut to fit; -v shows them whole\.$/m);
  assert.doesNotMatch(wide.stderr, /cut/);
});
