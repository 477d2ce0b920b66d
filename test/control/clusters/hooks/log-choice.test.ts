import assert from "node:assert/strict";
import { test } from "node:test";
import { type HookEvent, hookEvents } from "../../../../contract/hooks.ts";
import {
  chooseLog,
  eventsWithLogs,
  type Known,
  ofAutostop,
  togetherWith,
} from "../../../../control/clusters/hooks/log-choice.ts";
import { aLifecycle } from "../../../helpers/clusters.ts";
import { aRun } from "../../../helpers/lifecycles.ts";

/** Lifecycles, newest first, and which logs there are copies of. */
const known = (lifecycles: Known["lifecycles"], copies: readonly string[]): Known => ({
  lifecycles,
  hasCopy: ({ id }, event) => copies.includes(`${id} ${event}`),
});

const chosen = (choice: ReturnType<typeof chooseLog>) =>
  choice && `${choice.lifecycle.id} ${choice.event}`;

const done = { status: "DONE", endedAt: 9 } as const;
const stopped = aLifecycle({ id: "a", ...done });
const running = aLifecycle({ id: "b", runs: [aRun()] });
const both: HookEvent[] = ["preemption", "stop"];

/** What is known, which events are asked for, and which log that is. */
const choices: readonly [string, Known, readonly HookEvent[], string | undefined][] = [
  ["no lifecycle", known([], []), hookEvents, undefined],
  ["one that left no log", known([stopped], []), hookEvents, undefined],
  ["the newest log", known([stopped], ["a stop"]), hookEvents, "a stop"],
  ["another event", known([stopped], ["a stop"]), ["down"], undefined],
  ["one that runs, before older ones", known([running, stopped], ["a stop"]), ["stop"], "b stop"],
  [
    "one that has yet to begin its hooks",
    known([aLifecycle({ id: "b" }), stopped], ["a stop"]),
    hookEvents,
    "b stop",
  ],
  [
    "one that is about to leave without a hook",
    known([aLifecycle({ id: "b", status: "LEAVING" }), stopped], ["a stop"]),
    hookEvents,
    "a stop",
  ],
  [
    "one whose node took its log along",
    known([aLifecycle({ id: "a", ...done, runs: [aRun()] })], []),
    ["stop"],
    "a stop",
  ],
  [
    "one whose hooks were all skipped",
    known([aLifecycle({ ...done, runs: [aRun({ status: "SKIPPED", startedAt: null })] })], []),
    ["stop"],
    undefined,
  ],
  [
    "the event of the latest hook, of several",
    known(
      [aLifecycle({ id: "b", events: both, runs: [aRun(), aRun({ event: "preemption" })] })],
      [],
    ),
    hookEvents,
    "b preemption",
  ],
];

for (const [what, given, events, wanted] of choices)
  test(`the log that is shown: ${what}`, () => {
    assert.equal(chosen(chooseLog(given, events)), wanted);
  });

test("the log of the idle action is that of the idle timer, or of what ran the older hook", () => {
  const idle = aLifecycle({ id: "i", ...done, cause: "idle", events: ["down"] });
  const later = aLifecycle({ id: "s", ...done, runs: [aRun()] });
  const second = aLifecycle({ id: "s", ...done, runs: [aRun({ index: 1 })] });
  const taken = aLifecycle({ id: "p", ...done, events: ["preemption"] });

  const copies = ["i down", "s stop", "p preemption"];
  const choose = (lifecycles: Known["lifecycles"], hasOlderHook: boolean) =>
    chosen(chooseLog(ofAutostop(known(lifecycles, copies), hasOlderHook), ["stop", "down"]));

  assert.equal(choose([taken, later, idle], false), "i down");
  assert.equal(choose([taken, later], false), undefined);
  assert.equal(choose([taken, later, idle], true), "s stop");
  assert.equal(choose([taken, second, idle], true), "i down");
  assert.equal(choose([taken], true), undefined);
});

test("nodes that were taken away at the same time belong together, one lifecycle each", () => {
  const taken = { events: ["preemption" as const] };
  const old = aLifecycle({ id: "old", ...taken, rank: 1, startedAt: 0, endedAt: 5 });
  const head = aLifecycle({ id: "head", ...taken, rank: 0, startedAt: 10, endedAt: 20 });
  const worker = aLifecycle({ id: "worker", ...taken, rank: 1, startedAt: 15 });
  const stop = aLifecycle({ id: "stop", rank: 0, startedAt: 16 });
  const all = known([stop, worker, head, old], []);
  const ids = (lifecycle: typeof head, event: HookEvent = "preemption") =>
    togetherWith(all, { event, lifecycle }).map(({ id }) => id);

  assert.deepEqual(ids(head).toSorted(), ["head", "worker"]);
  assert.deepEqual(ids(old), ["old"]);
  assert.deepEqual(ids(stop, "stop"), ["stop"]);
});

test("the events that a cluster has logs of are told in their order", () => {
  const down = aLifecycle({ id: "d", events: ["down"] });

  assert.deepEqual(eventsWithLogs(known([down, stopped], ["d down", "a stop"])), ["stop", "down"]);
});
