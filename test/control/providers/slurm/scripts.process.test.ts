import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { localLogin } from "../../../../control/providers/slurm/login.ts";
import {
  newScript,
  submitScript,
  unsubmitted,
} from "../../../../control/providers/slurm/scripts.ts";

/** A login node with commands of Slurm that are scripts of the test. */
function aLogin(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "slurm-login-"));
  t.after(() => rmSync(home, { recursive: true }));
  const write = (name: string, text: string) =>
    writeFileSync(join(home, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const calls = join(home, "calls");
  write("sbatch", `echo x >> ${calls}; echo 7`);
  const env = { PATH: `${home}:${process.env["PATH"]}` };
  const login = localLogin({ nodeEnv: env, slurmConf: undefined, home });
  const folder = join(home, "c1");
  return {
    folder,
    squeue: (text: string) => write("squeue", text),
    submit: () => login.run(submitScript, [folder, "job-c1", "build", "batch", "node", "--x"]),
    isNew: () =>
      login.run(newScript, [folder]).then(
        () => true,
        () => false,
      ),
    calls: () => readFileSync(calls, "utf8"),
  };
}

const silent = 'echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1';
const message = "Slurm: Unable to contact slurm controller";

test("while Slurm does not answer, the login node knows whether anything was submitted", async (t) => {
  const { folder, squeue, submit, isNew, calls } = aLogin(t);
  squeue(silent);
  await assert.rejects(submit(), { message: message + unsubmitted });
  assert.deepEqual([existsSync(folder), await isNew()], [false, true]);

  // Its answer may be lost, and its job is not shown yet.
  squeue("true");
  await submit();
  squeue(silent);
  await assert.rejects(submit(), { message });
  assert.deepEqual([calls(), existsSync(folder), await isNew()], ["x\n", true, false]);

  squeue("echo job-c1");
  await submit();
  assert.equal(calls(), "x\n");
});
