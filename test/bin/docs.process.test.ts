import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

test("a page whose table is not current is named and made anew, and its prose stays", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "docs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const pages of ["docs", "examples"])
    cpSync(join(root, pages), join(folder, pages), { recursive: true });
  assert.equal(run(folder).status, 0);
  const page = join(folder, "docs/api.md");
  const text = readFileSync(page, "utf8");
  writeFileSync(page, text.replace("| sync |", "| SYNC |").replace("## Modes", "## Ways"));

  const checked = run(folder, "--check");

  assert.equal(checked.status, 1);
  assert.match(checked.stderr, /^docs\/api\.md is not current/);
  assert.doesNotMatch(checked.stderr, /statuses/);
  assert.equal(run(folder).status, 0);
  assert.equal(readFileSync(page, "utf8"), text.replace("## Modes", "## Ways"));
});

test("a page without the marks of a part is refused", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "docs-"));
  t.after(() => rmSync(folder, { recursive: true }));

  assert.match(
    run(folder).stderr,
    /docs\/api\.md has no marks <!-- count --> and <!-- \/count -->/,
  );
});
