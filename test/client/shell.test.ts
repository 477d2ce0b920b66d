import assert from "node:assert/strict";
import { Duplex, PassThrough } from "node:stream";
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

test("a login fails when the connection ends during the key exchange", async () => {
  const way = new Duplex({
    allowHalfOpen: false,
    read() {},
    write: (_chunk, _encoding, done) => done(),
  });
  way.push("SSH-2.0-server\r\n");
  way.push(null);
  const credentials = { ssh_user: "me", ssh_private_key: null, ssh_control_name: "dev" };

  await assert.rejects(logIn(way, { ...credentials, ssh_proxy_command: null }), {
    name: "UnreachableError",
    message: "the control plane hung up",
  });
});
