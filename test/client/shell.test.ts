import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { followSize, logIn } from "../../client/commands/shell.ts";
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

test("a login fails at once on a connection that broke before it", async () => {
  const way = new PassThrough().on("error", () => {});
  way.destroy(new Error("it broke"));
  const credentials = { ssh_user: "me", ssh_private_key: null, ssh_control_name: "dev" };

  await assert.rejects(logIn(way, { ...credentials, ssh_proxy_command: null }), /it broke/);
});
