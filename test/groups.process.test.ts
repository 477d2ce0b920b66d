import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const groups = join(import.meta.dirname, "groups.ts");
/** As many as it takes for files to share processes. */
const others = Array.from({ length: 20 }, (_, at) => `other-${at}`);
const ways = ["spawn", "exec", "execFile", "fork", "spawnSync", "execSync", "execFileSync"];

for (const way of ways)
  test(`a unit test that starts a process with ${way} fails, even if it looks away`, async (t) => {
    const text = `
import { ${way} } from "node:child_process";
import { test } from "node:test";
test("looks away", () => { try { ${way}("true"); } catch {} });`;

    assert.match(await play(t, "guilty.test.mjs", text), /a unit test starts no process/);
  });

test("a test of a file for it may start a process", async (t) => {
  const text = `
import { spawnSync } from "node:child_process";
import { test } from "node:test";
test("starts one", () => { if (spawnSync("true").status !== 0) throw new Error("not started"); });`;

  assert.equal(await play(t, "open.process.test.mjs", text), "");
});

/** Runs a test file among others, in the groups of a folder; what is said when it fails. */
async function play(t: TestContext, name: string, text: string): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), "tests-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, "test"));
  for (const other of others) writeFileSync(join(cwd, "test", `${other}.test.mjs`), "");
  writeFileSync(join(cwd, "test", name), text);
  const { stdout: files } = await run(process.execPath, [groups, "test/*.test.mjs"], { cwd });
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const words = ["--test", ...files.trim().split("\n")];
  return run(process.execPath, words, { cwd, env }).then(
    () => "",
    ({ stdout }) => stdout,
  );
}
