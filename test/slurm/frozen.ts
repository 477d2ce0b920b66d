import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openClient } from "../../client/sdk.ts";
import { findProcess, listProcesses } from "../../common/process-tree.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { commandOf } from "../helpers/programs.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

const options = { skip: whyNoSlurm(), timeout: 180_000 };

/** A control plane that is frozen in the midst of its first submission, which a program holds up, and its successor. */
async function startFrozen(t: TestContext, program: string, isSubmission: string) {
  const folder = mkdtempSync(join(tmpdir(), "frozen-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [begun, go, over] = ["begun", "go", "over"].map((name) => join(folder, name));
  const script = `#!/bin/sh
${isSubmission} && mkdir ${begun} 2> /dev/null || exec /usr/bin/${program} "$@"
until [ -e ${go} ]; do sleep 0.1; done
/usr/bin/${program} "$@" 2> ${folder}/said
code=$?
cat ${folder}/said >&2
touch ${over}
exit $code
`;
  writeFileSync(join(folder, program), script, { mode: 0o755 });
  const PATH = `${folder}:${process.env["PATH"]}`;
  const bed = await startOnSlurm(t, { env: { PATH } });
  const { control, slurm } = bed;
  const { pid, home } = control;
  void clusterOf(control, "one")
    .launch(aTask("echo once"))
    .catch(() => {});
  await until(() => existsSync(`${begun}`) || undefined);
  process.kill(pid, "SIGSTOP");
  // Locks are lost where the file system of a home is, or with a copy of its machine.
  for (const end of ["", "-journal"]) rmSync(join(home, `control.lock${end}`), { force: true });
  await control.start({ OUTRIGGER_PORT: "0" });
  const { port } = JSON.parse(readFileSync(join(home, "control.pid"), "utf8"));
  const client = openClient({ endpoint: `http://127.0.0.1:${port}`, origin: "a test" });
  t.after(() => client.close());
  return {
    ...bed,
    cluster: clusterOf({ client }, "one"),
    jobs: async () => (await slurm.run("squeue", "--noheader", "--states=all")).split("\n").length,
    /** Until the successor submits the same cluster, and waits for the lock of its folder. */
    untilBothSubmit: () =>
      until(() => {
        const waits = listProcesses().filter(({ name }) => name === "flock");
        return waits.some(({ parent }) => commandOf(parent).includes(home)) || undefined;
      }),
    /** Lets the submission go on; resolves once it is over, with what it complained of. */
    async submit(): Promise<string> {
      writeFileSync(`${go}`, "");
      await until(() => existsSync(`${over}`) || undefined);
      return readFileSync(join(folder, "said"), "utf8");
    },
    /** Lets the frozen one go on, which ends it; answers what the two of them logged. */
    async thaw(): Promise<string> {
      process.kill(pid, "SIGCONT");
      await until(() => findProcess(pid) === undefined || undefined);
      return readFileSync(join(home, "control.log"), "utf8");
    },
  };
}

test(
  "what a frozen control plane sends late is refused, and nothing is left of it",
  options,
  async (t) => {
    const isSubmission = 'case $* in *"sbatch --parsable"*) ;; *) false ;; esac';
    const { cluster, jobs, submit, thaw, untilNothingIsLeft } = await startFrozen(
      t,
      "bash",
      isSubmission,
    );
    await cluster.untilStatus("UP");
    await cluster.down();

    assert.match(
      await submit(),
      /another control plane has taken over; if this one is the right one/,
    );
    assert.equal(await jobs(), 1);
    assert.match(await thaw(), /another control plane has taken over this home; this one stops/);

    await untilNothingIsLeft();
  },
);

test(
  "a submission that a frozen control plane had begun is the one that its successor finds",
  options,
  async (t) => {
    const bed = await startFrozen(t, "sbatch", "true");
    const { cluster, jobs, submit, thaw, untilNothingIsLeft } = bed;

    await bed.untilBothSubmit();
    assert.equal(await submit(), "");
    await cluster.untilStatus("UP");
    await cluster.untilJob(1, "SUCCEEDED");
    assert.equal(await jobs(), 1);
    assert.match(await thaw(), /another control plane has taken over this home; this one stops/);

    const { text } = await cluster.follow(await cluster.exec(aTask("echo still here")));
    assert.match(text, /still here/);
    assert.equal(await jobs(), 1);
    await cluster.down();
    await untilNothingIsLeft();
  },
);
