import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const main = join(import.meta.dirname, "main.ts");

test("a control plane that meets faults does as it is told: 40 seeds", async () => {
  const { stdout } = await run(process.execPath, [main, "--seeds", "40"]);

  assert.equal(stdout, "");
});

test("what failed once does not fail again", async () => {
  const { stdout } = await run(process.execPath, [main, "--regressions"]);

  assert.equal(stdout, "");
});

test("a seed plays the same every time", async () => {
  const play = async () => (await run(process.execPath, [main, "--seed", "3"])).stdout;

  const [one, other] = await Promise.all([play(), play()]);

  assert.match(one, /seed 3: passed, trace [0-9a-f]{16}\n$/);
  assert.equal(one, other);
});
