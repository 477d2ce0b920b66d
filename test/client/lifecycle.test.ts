import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { type Ending, fakeControl } from "./fake-control.ts";
import { two, usual } from "./usual-routes.ts";

const [devUp, dev2Stopped] = two.result as unknown[];
const up: Ending = { result: [devUp] };
const stopped: Ending = { result: [dev2Stopped] };

/** A command line, the clusters it finds, and all it says of what it did. */
const outcomes: readonly [string, Ending, string][] = [
  ["stop dev", up, "Stopping dev\n"],
  ["stop dev-2", stopped, "Stopping dev-2\ndev-2 is STOPPED already\n"],
  ["start dev", up, "Starting dev\ndev is UP already\n"],
  ["start dev-2", stopped, "Starting dev-2\n"],
  ["stop -a -y", two, "Stopping dev\nStopping dev-2\ndev-2 is STOPPED already\n"],
  ["down dev-2", stopped, "Tearing down dev-2\n"],
];

for (const [line, found, told] of outcomes)
  test(`\`outrigger ${line}\` says ${JSON.stringify(told)}`, async (t) => {
    const control = await fakeControl(t, { ...usual, "POST /status": found });
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.deepEqual([code, stderr], [0, told]);
  });

test("who does not wait is not told how it ended", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["start", "dev", "--async"]);

  assert.doesNotMatch(stderr, /already/);
});
