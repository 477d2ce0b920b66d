import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

test("each flaky case is named, and the third one fails the run", (t) => {
  const clone = mkdtempSync(join(tmpdir(), "flaky-"));
  t.after(() => rmSync(clone, { recursive: true }));
  for (const folder of ["test", "node_modules"]) mkdirSync(join(clone, folder));
  cpSync(join(import.meta.dirname, "flaky"), join(clone, "test/flaky"));
  const note = (...names: string[]) => {
    const { status, stdout } = spawnSync(join(clone, "test/flaky"), names, { encoding: "utf8" });
    return [status, stdout.match(/^flaky: \S+/gm)];
  };

  assert.deepEqual(note("a", "b"), [0, ["flaky: a", "flaky: b"]]);
  assert.deepEqual(note("c"), [1, ["flaky: c"]]);
});
