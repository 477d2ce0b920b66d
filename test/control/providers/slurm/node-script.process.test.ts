import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { nodeScript } from "../../../../control/providers/slurm/scripts.ts";

/** A node of job 7, whose agent lists its home and has Slurm end the job. */
function aNode(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "slurm-node-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const inFolder = (name: string) => join(folder, name);
  const scratch = inFolder("scratch");
  const agent = `[ "$2" = --no-maglev ] || { ls ~ > ${inFolder("listed")}; kill -TERM $PPID; }`;
  writeFileSync(inFolder("agent"), `#!/bin/sh\n${agent}\n`, { mode: 0o755 });
  writeFileSync(inFolder("program"), `build ${inFolder("agent")}\n`);
  const env = { PATH: process.env["PATH"], SLURM_JOB_ID: "7", SLURM_NODEID: "0", HOME: folder };
  return {
    ...{ inFolder, home: join(scratch, `outrigger-${process.getuid?.()}-7-0`) },
    /** Answers what is left in the scratch folder. */
    run() {
      const words = ["-c", nodeScript, "node", folder, scratch, "5"];
      spawnSync("bash", words, { env, stdio: "ignore", timeout: 60_000 });
      return readdirSync(scratch);
    },
  };
}

test("a job that was killed and requeued begins with a new home", (t) => {
  const { inFolder, home, run } = aNode(t);
  mkdirSync(join(home, "of the first run"), { recursive: true });

  assert.deepEqual(run(), []);

  assert.doesNotMatch(readFileSync(inFolder("listed"), "utf8"), /first/);
});

test("a link in the place of a home is not followed", (t) => {
  const { inFolder, home, run } = aNode(t);
  mkdirSync(inFolder("scratch"));
  symlinkSync(inFolder("."), home);

  assert.equal(run().length, 1);

  assert.throws(() => readFileSync(inFolder("listed")), { code: "ENOENT" });
});
