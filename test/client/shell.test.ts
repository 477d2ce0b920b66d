import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { followSize } from "../../client/commands/shell.ts";
import type { Output } from "../../client/terminal.ts";

test("the size of the terminal is sent once it is followed, at each change, and not after", () => {
  const terminal: Output = Object.assign(new PassThrough(), { columns: 120, rows: 40 });
  const sent: unknown[] = [];
  const channel = { setWindow: (rows: number, columns: number) => void sent.push([rows, columns]) };

  const unfollow = followSize(channel, terminal);
  terminal.rows = 41;
  terminal.emit("resize");
  unfollow();
  terminal.emit("resize");

  assert.deepEqual(sent, [
    [40, 120],
    [41, 120],
  ]);
});
