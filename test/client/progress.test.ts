import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { answerSink, openProgress } from "../../client/progress.ts";
import { openTerminal } from "../../client/terminal.ts";

/** Progress on a terminal, or into a file, with a clock set by hand. */
function here(tty: { isTTY?: true; columns?: number }) {
  const stream = () => Object.assign(new PassThrough(), tty);
  const stderr = stream();
  const streams = { stdin: stream(), stdout: stream(), stderr };
  const clock = { ms: 0 };
  const progress = openProgress(openTerminal(streams, { NO_COLOR: "1" }), () => clock.ms);
  return { progress, clock, text: () => String(stderr.read() ?? "") };
}

/** The lines that are left on the screen: what was cleared is gone. */
const screenOf = (text: string) => text.split("\n").map((line) => line.split("\r\u001b[K").at(-1));

test("a file gets a line a step, and the text between", () => {
  const { progress, text } = here({});

  progress.step("Launching dev");
  progress.write(Buffer.from("node 0 runs\n"));
  progress.control("rich_init", "[bold]Waiting[/bold]");
  progress.control("rich_update", "Waiting");
  progress.control("rich_exit", "");
  progress.end("done");

  assert.equal(text(), "Launching dev\nnode 0 runs\nWaiting\n");
});

test("a terminal sees the step under way, then how each ended and what it took", () => {
  const { progress, clock, text } = here({ isTTY: true, columns: 20 });

  progress.step("Launching a-cluster-with-a-name");
  assert.deepEqual(screenOf(text()), ["⠋ Launching a-clus…"]);
  progress.write(Buffer.from("node 0 runs"));
  assert.deepEqual(screenOf(text()), ["node 0 runs"]);
  clock.ms = 2_500;
  progress.step("Submitting");
  assert.deepEqual(screenOf(text()), [
    "",
    "✓ Launching a-cluster-with-a-name  2.5s",
    "⠋ Submitting",
  ]);
  progress.end("failed");
  assert.deepEqual(screenOf(text()), ["✗ Submitting", ""]);
});

test("whoever watches is told that control is away, on a line of its own", async () => {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const stdin = new PassThrough();
  const terminal = openTerminal({ stdin, stdout, stderr: stdout }, { NO_COLOR: "1" });
  const sink = answerSink(terminal);

  await sink.write(Buffer.from("half a line"));
  sink.away?.();
  const silent = answerSink({ ...terminal, isLive: false });
  silent.away?.();

  assert.equal(
    String(stdout.read()),
    "half a line\nThe control plane does not answer; waiting for it\n",
  );
});
