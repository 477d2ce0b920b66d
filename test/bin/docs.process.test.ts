import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../bin/docs.ts", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));

const run = (folder: string, ...args: string[]) =>
  spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8" });

test("generated pages are current", () => {
  const { status, stderr } = run(root, "--check");
  assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
});

test("a page that is not current is named, and made anew", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "docs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.equal(run(folder).status, 0);
  appendFileSync(join(folder, "docs/api.md"), "by hand\n");
  const checked = run(folder, "--check");
  assert.equal(checked.status, 1);
  assert.match(checked.stderr, /^docs\/api\.md is not current/);
  assert.doesNotMatch(checked.stderr, /statuses/);
  assert.equal(run(folder).status, 0);
  assert.equal(run(folder, "--check").status, 0);
});
