import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "../../agent/log.ts";
import { serve } from "../../agent/server.ts";

test("the socket is its owner's alone, and nothing else of the agent is touched by that", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "s-"));
  const socket = join(folder, "a.sock");

  const serving = serve({}, {}, { socket, log: openLog("error") });
  mkdirSync(join(folder, "meanwhile"));
  const server = await serving;
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  assert.equal(server.keepAliveTimeout, 0, "it ends no connection that a call may come on");
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, "meanwhile")).mode & 0o100, 0o100);
});
