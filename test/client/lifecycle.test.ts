import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { type Ending, fakeControl } from "./fake-control.ts";
import { two, usual } from "./usual-routes.ts";

/** The hooks of a stop run. */
const aStop = {
  id: "l1",
  action: "stop",
  cause: "user",
  because: "stop by ann",
  phase: "HOOKS",
  node: 0,
  started_at: 1,
  deadline_at: null,
  hook: null,
  hooks_run: [],
};
const [devUp, dev2Stopped] = two.result as unknown[];
const up: Ending = { result: [devUp] };
const stopped: Ending = { result: [dev2Stopped] };
const takenBack: Ending = {
  result: [{ ...(devUp as object), lifecycle: { ...aStop, phase: "CANCELLED" } }],
};
const stopping: Ending = { result: [{ ...(devUp as object), lifecycle: aStop }] };

/** That a cluster which idleness deleted is now stopped instead. */
const becomesStop = (minutes: number) =>
  `dev will now be stopped, not deleted, when it is idle; to delete it: outrigger autostop --down -i ${minutes} dev\n`;

/** A command line, the clusters it finds, and all it says of what it did. */
const outcomes: readonly [string, Ending, string][] = [
  ["stop dev", up, "Stopping dev\n"],
  ["stop dev-2", stopped, "Stopping dev-2\ndev-2 is STOPPED already\n"],
  ["start dev", up, "Starting dev\ndev is UP already\n"],
  ["start dev", stopping, "Starting dev\n"],
  ["start dev", takenBack, "Starting dev\ndev is UP already\n"],
  ["start dev-2", stopped, "Starting dev-2\n"],
  ["stop -a -y", two, "Stopping dev\nStopping dev-2\ndev-2 is STOPPED already\n"],
  ["down dev-2", stopped, "Tearing down dev-2\n"],
  ["autostop dev -i 0", up, `Setting autostop of dev: as soon as it is idle\n${becomesStop(0)}`],
  ["autostop dev -i 1 --down", up, "Setting autodown of dev: after 1 idle minute\n"],
  ["autostop dev", up, `Setting autostop of dev: after 5 idle minutes\n${becomesStop(5)}`],
  ["autostop dev --cancel", up, "Cancelling autostop of dev\n"],
];

for (const [line, found, told] of outcomes)
  test(`\`outrigger ${line}\` says ${JSON.stringify(told)}`, async (t) => {
    const control = await fakeControl(t, { ...usual, "POST /status": found });
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.deepEqual([code, stderr], [0, told]);
  });

test("no tick stands before what was so already", async (t) => {
  const result = { 7: "SUCCEEDED", 8: "RUNNING" };
  const jobs = { "POST /job_status": { result }, "POST /queue": { result: [] } };
  const control = await fakeControl(t, { ...usual, ...jobs, "POST /status": two });
  const outrigger = await commandLine(t, control.endpoint);
  const said = async (line: string) => {
    const { stderr } = await outrigger(wordsOf(line), { columns: 80, env: { NO_COLOR: "1" } });
    return stderr
      .match(/^.*[✓-] (?=\w+ing )/gm)
      ?.map((mark) => mark.trim().at(-1))
      .join("");
  };

  assert.equal(await said("stop -y dev dev-2"), "✓-");
  assert.equal(await said("start -y dev dev-2"), "-✓");
  assert.equal(await said("cancel -y dev 7"), "-");
  assert.equal(await said("cancel -y dev 7 8"), "✓");
  assert.equal(await said("cancel -y dev"), "-");
});

test("who does not wait is not told how it ended", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["start", "dev", "--async"]);

  assert.doesNotMatch(stderr, /already/);
});
