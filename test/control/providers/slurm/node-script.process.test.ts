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

const thisBoot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8");

/** A node of job 7, whose agent lists its home and has Slurm end the job. */
function aNode(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "slurm-node-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const inFolder = (name: string) => join(folder, name);
  const scratch = inFolder("scratch");
  const agent = `[ "$2" = --no-maglev ] || { ls ~ > ${inFolder("listed")}; kill -TERM $PPID; }`;
  writeFileSync(inFolder("agent"), `#!/bin/sh\n${agent}\n`, { mode: 0o755 });
  writeFileSync(inFolder("program"), `build ${inFolder("agent")}\n`);
  const env = {
    PATH: `${folder}:${process.env["PATH"]}`,
    SLURM_JOB_ID: "7",
    SLURM_NODEID: "0",
    HOME: folder,
  };
  const homeOf = (job: number) => join(scratch, `outrigger-${process.getuid?.()}-${job}-0`);
  return {
    ...{ inFolder, home: homeOf(7) },
    /** Leaves the home of an earlier job, by default on this machine. */
    leave(job: number, boot = thisBoot) {
      mkdirSync(homeOf(job), { recursive: true });
      writeFileSync(join(homeOf(job), ".boot"), boot);
    },
    /** What Slurm says of other jobs. */
    squeue: (text: string) =>
      writeFileSync(inFolder("squeue"), `#!/bin/sh\n${text}\n`, { mode: 0o755 }),
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

test("the homes of jobs that are over are removed, of this machine and as long as Slurm answers", (t) => {
  const { leave, squeue, run } = aNode(t);
  const jobs = (left: string[]) => left.map((name) => Number(name.split("-").at(-2)));
  for (const job of [1, 2, 3, 4]) leave(job);
  leave(5, "another machine");
  const invalid = 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1';
  squeue(
    `case "$*" in *=1\\ *) echo RUNNING ;; *=2\\ *) ;; *=3\\ *) ${invalid} ;; *) exit 1 ;; esac`,
  );

  assert.deepEqual(jobs(run()).sort(), [1, 4, 5]);

  squeue("exit 1");
  leave(3);
  assert.deepEqual(jobs(run()).sort(), [1, 3, 4, 5]);
});
