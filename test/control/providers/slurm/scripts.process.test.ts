import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { localLogin } from "../../../../control/providers/slurm/login.ts";
import {
  endScript,
  foldersScript,
  forgetScript,
  queueScript,
  submitScript,
  unsubmitted,
} from "../../../../control/providers/slurm/scripts.ts";

/** A login node with commands of Slurm that are scripts of the test. */
function aLogin(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "slurm-login-"));
  t.after(() => rmSync(home, { recursive: true }));
  const write = (name: string, text: string) =>
    writeFileSync(join(home, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const [calls, folder] = [join(home, "calls"), join(home, "c1")];
  const notes = (epoch = 5) => [join(home, ".id."), `${epoch}`];
  write("scancel", "true");
  write("sbatch", `echo x >> ${calls}; echo 7`);
  const proxies = { https_proxy: "http://proxy:3128", ftp_proxy: "http://other:3128" };
  const env = { PATH: `${home}:${process.env["PATH"]}`, ...proxies };
  const login = localLogin({ nodeEnv: env, slurmConf: undefined, home });
  return {
    folder,
    write,
    squeue: (text: string) => write("squeue", text),
    /** What becomes of the removal of the folder; bash may source what removes files of the user. */
    onRemoval: (text: string) =>
      write("rm", `if [ "$*" = "-rf ${folder}" ]; then ${text}; fi\nexec /bin/rm "$@"`),
    forget: () => login.run(forgetScript, [folder, "job-c1", ...notes()]),
    end: (epoch?: number) => login.run(endScript, [folder, "job-c1", ...notes(epoch)]),
    submit: (epoch?: number) =>
      login.run(submitScript, [folder, "job-c1", ...notes(epoch), "build", "batch", "node", "--x"]),
    look: (epoch: number) => login.run(queueScript, notes(epoch)),
    /** Where no note can be. */
    lookInFile: () => login.run(queueScript, [join(home, "sbatch", ".id."), "4"]),
    /** What a look leaves in a home that is empty, as one whose file system is away. */
    async lookWithoutHome() {
      const away = join(home, "away");
      mkdirSync(away);
      const script = `HOME=${away}\n${foldersScript}`;
      await assert.rejects(login.run(script, [join(away, "slurm", ".id."), "5"]));
      // The home of a new user may be empty as well.
      await login.run(`HOME=${away}\n${queueScript}`, [join(away, "slurm", ".id."), "5"]);
      return readdirSync(away);
    },
    notes: () => readdirSync(home).filter((name) => name.startsWith(".id.")),
    isNew: async (parent = home) =>
      !(await login.run(foldersScript, [join(parent, ".id."), "5"])).includes("c1\n"),
    calls: () => readFileSync(calls, "utf8"),
  };
}

const silent = 'echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1';
const message = "Slurm: Unable to contact slurm controller";

test("while Slurm does not answer, the login node knows whether anything was submitted", async (t) => {
  const { folder, squeue, submit, isNew, lookWithoutHome, calls } = aLogin(t);
  squeue("true");
  assert.deepEqual(await lookWithoutHome(), []);
  squeue(silent);
  assert.equal(await isNew(join(folder, "never used")), true);
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

test("a job gets the proxy of the login node", async (t) => {
  const { folder, squeue, write, submit } = aLogin(t);
  squeue("true");
  write("sbatch", "env | grep proxy > submitted; echo 7");

  await submit();

  assert.equal(readFileSync(join(folder, "submitted"), "utf8"), "https_proxy=http://proxy:3128\n");
});

test("on NFS, the folder of a cluster goes although its lock is held", async (t) => {
  const { folder, squeue, onRemoval, submit, forget, end } = aLogin(t);
  squeue(silent);
  onRemoval("exit 1");
  await assert.rejects(submit(), { message: message + unsubmitted });

  // Files that are open are kept until they are closed, and so is their folder.
  onRemoval(`[ ! -e /dev/fd/9 ] || { find ${folder} -type f -delete; exit 1; }`);
  await assert.rejects(submit(), { message: message + unsubmitted });
  assert.equal(existsSync(folder), false);

  squeue("true");
  for (const go of [forget, end]) {
    mkdirSync(folder);
    await go();
    assert.equal(existsSync(folder), false);
  }
});

test("a submission that waited while the folder of its cluster was removed submits nothing", async (t) => {
  const { folder, squeue, write, submit } = aLogin(t);
  squeue("true");
  write("flock", `rm ${folder}/lock`);

  await assert.rejects(submit(), {
    message: "Slurm: the folder of the cluster was removed meanwhile",
  });
  assert.equal(existsSync(join(folder, "batch")), false);
});

test("a look fails where its epoch cannot be noted", async (t) => {
  const { squeue, lookInFile } = aLogin(t);
  squeue("true");
  await assert.rejects(lookInFile(), { message: /\.id\.4 cannot be written/ });
});

test("once a control plane has looked, an earlier one that was frozen submits and ends nothing", async (t) => {
  const { folder, squeue, submit, look, end, isNew, notes, calls } = aLogin(t);
  squeue("true");
  await look(4);
  await look(5);
  const overtaken = { message: /another control plane .* end the other and remove .*\.id\.5$/ };
  await assert.rejects(submit(4), overtaken);
  // Nor does it end what has no folder.
  await assert.rejects(end(4), overtaken);
  assert.equal(existsSync(folder), false);
  // It may look once more.
  await look(4);
  await assert.rejects(submit(4), overtaken);
  await submit(5);
  await assert.rejects(end(4), overtaken);
  assert.deepEqual([calls(), existsSync(folder)], ["x\n", true]);

  await look(6);
  assert.deepEqual(notes(), [".id.6"]);
  await end(6);
  assert.equal(await isNew(), true);
});
