import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";

const room = new URL("../../control/", import.meta.url);
const program = `
  import { openLog } from "${room}log.ts";
  const log = openLog("test", "info");
  for (let line = 0; line < 3; line += 1) log.info({ line }, "tried");
  process.stdout.write("goes on");`;

test("a log that cannot be written any more does not end its program", (t) => {
  const full = openSync("/dev/full", "w");
  t.after(() => closeSync(full));

  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", full],
    encoding: "utf8",
  });

  assert.deepEqual({ status, stdout }, { status: 0, stdout: "goes on" });
});
