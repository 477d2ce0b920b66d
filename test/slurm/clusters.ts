import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { slurmOperations } from "../../contract/operations/slurm.ts";
import { taskOperations } from "../../contract/operations/tasks.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

const options = { skip: whyNoSlurm(), timeout: 180_000 };

test("a cluster of two Slurm nodes with GPUs, from its launch to its end", options, async (t) => {
  const { slurm, control, untilNothingIsLeft } = await startOnSlurm(t);
  const pair = clusterOf(control, "pair");
  const run = "echo rank $OUTRIGGER_NODE_RANK has $CUDA_VISIBLE_DEVICES";

  await t.test("its job runs on both nodes, each with its GPUs", async () => {
    const resources = { infra: "slurm", accelerators: "h100:2" };
    const id = await pair.launch(JSON.stringify({ num_nodes: 2, resources, run }));
    const { code, text } = await pair.follow(id);
    assert.equal(code, 0, text);
    assert.match(text, /rank 0 has 0,1$/m);
    assert.match(text, /rank 1 has 0,1$/m);
  });

  await t.test("`srun` in its scripts runs a step on each node of the allocation", async () => {
    const script = `scontrol show hostnames "$SLURM_JOB_NODELIST" | xargs echo job $SLURM_JOB_ID on
srun bash -c 'echo "$SLURMD_NODENAME has $CUDA_VISIBLE_DEVICES"'; env | grep -c ^SLURM_NTASKS=
echo $SLURM_TASKS_PER_NODE for $SLURM_JOB_CPUS_PER_NODE`;
    const resources = { infra: "slurm", accelerators: "h100:1" };
    const { text } = await pair.follow(await pair.exec(JSON.stringify({ run: script, resources })));
    const said = text.match(/^.*(on n1 n2|n. has 0,1)$/gm)?.toSorted() ?? [];
    assert.match(text, /^0$/m);
    assert.match(text, /^(\d+\(x2\)) for \1$/m);
    assert.match(`${said}`, /^job \d+ on n1 n2,n1 has 0,1,n2 has 0,1$/, text);
  });

  await t.test(
    "`srun` of two jobs run at once, and nothing of them is left on any node once they are cancelled",
    async () => {
      const steps = () => slurm.run("squeue", "--steps", "--noheader", "--format=%i");
      const before = await steps();
      const pidFile = (step: string, node: string) => join(control.home, `${step}-${node}`);
      const calls = (step: string) =>
        pair.exec(
          aTask(
            `exec srun bash -c 'echo $$ > ${pidFile(step, "$SLURMD_NODENAME")}; exec sleep 987'`,
          ),
        );
      const jobs = [await calls("one"), await calls("two")];
      const files = ["one", "two"].flatMap((step) => [pidFile(step, "n1"), pidFile(step, "n2")]);
      const pids = await until(() => {
        const found = files.map((file) => existsSync(file) && readFileSync(file, "utf8").trim());
        return found.every(Boolean) ? found : undefined;
      }, 30_000);
      await pair.cancel(...jobs);
      await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)) || undefined, 30_000);
      await until(async () => (await steps()) === before || undefined, 30_000);
    },
  );

  await t.test("all of it is one job of Slurm, in which others run at once", async () => {
    const jobs = await slurm.run("squeue", "--noheader", "--format=%D");
    assert.equal(jobs, "2");
    const { text } = await pair.follow(await pair.exec(aTask("echo again")));
    assert.match(text, /again/);
  });

  await t.test("a plan tells the limits of partitions, and when a job might start", async () => {
    const planOf = async (sbatch_options: object) => {
      const dag = aTask("true", { config: { slurm: { sbatch_options } } });
      const printed: Buffer[] = [];
      const sink = { write: (text: Buffer) => void printed.push(text), control() {} };
      const input = { dag, request_options: null };
      await control.client.callAndStream(taskOperations.optimize, input, sink);
      return Buffer.concat(printed).toString();
    };
    const start = "estimated start \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d$";
    const shown = await planOf({ time: "30" });
    assert.match(shown, new RegExp(`/low .* chosen; time limit infinite, ${start}`, "m"));
    assert.match(shown, new RegExp(`/high .* time limit 1:00:00, 1-2 nodes, ${start}`, "m"));
    assert.match(await planOf({ constraint: "none" }), /\/low .*; Slurm: .*Invalid feature/);
    const limit = "the time limit of 60 s (sbatch_options.time) is too short: jobs are told 60 s";
    assert.ok((await planOf({ time: "1" })).includes(limit));
    assert.equal(await slurm.run("squeue", "--noheader", "--format=%D"), "2");
  });

  await t.test(
    "a time limit that is too short for the hooks is refused with the numbers",
    async () => {
      const hooks = [{ run: "true", events: ["preemption"], timeout: 90 }];
      const config = { hooks, slurm: { sbatch_options: { time: "1" } } };
      const message =
        /time limit of 60 s \(sbatch_options.time\) .* hooks may take 90 s and 15 s are reserved/;
      await assert.rejects(clusterOf(control, "short").launch(aTask("true", { config })), {
        message,
      });
      assert.equal(await slurm.run("squeue", "--noheader", "--format=%D"), "2");
    },
  );

  await t.test("the nodes tell which GPUs are free", async () => {
    const { client } = control;
    const free = await client.callAndGet(slurmOperations.slurmGpuAvailability, {});
    assert.deepEqual(free, [["local", [["h100", [1, 2, 4], 8, 4]], null]]);
    for (const row of [slurmOperations.slurmNodeInfo, slurmOperations.slurmNodeInfoByGet]) {
      const nodes = await client.callAndGet(row, {});
      const told = nodes.map((node) => [node.node_name, node.node_state, node.free_gpus]);
      assert.deepEqual(told, [
        ["n1", "mixed", 2],
        ["n2", "mixed", 2],
      ]);
    }
    const { stdout } = await control.cli("gpus", "list");
    assert.match(stdout, /^h100 .*1, 2, 4 .*slurm/m);
    assert.match((await control.cli("gpus")).stdout, /^slurm\/local +h100 +8 +4 .*pair/m);
    assert.match(
      (await control.cli("check", "slurm")).stdout,
      /^slurm: slurm\/local\/low .*h100:4/m,
    );
  });

  await t.test("it goes on while control is killed, and is found again", async () => {
    await control.end("SIGKILL");
    await control.start();
    const { text } = await pair.follow(await pair.exec(aTask("echo after it")));
    assert.match(text, /after it/);
    assert.equal(await slurm.run("squeue", "--noheader", "--format=%D"), "2");
  });

  await t.test("it cannot be stopped, and says what to do instead", async () => {
    const { code, stderr } = await control.cli("stop", "-y", "pair");
    assert.notEqual(code, 0);
    assert.match(stderr, /cannot stop nodes; take the cluster down/);
  });

  await t.test("nothing is left once it is down", async () => {
    await pair.down();
    assert.equal(await pair.status(), undefined);
    await untilNothingIsLeft();
  });
});

test(
  "what a cancelled allocation was is told, and a managed job goes on in another",
  options,
  async (t) => {
    const { slurm, control, untilNothingIsLeft, untilRuns } = await startOnSlurm(t);
    const { client } = control;
    const task = aTask("sleep 1000");
    const plain = clusterOf(control, "plain");
    await plain.launch(task);
    await client.callAndGet(jobOperations.launch, { task, name: null });
    await untilRuns(0);

    await slurm.run("scancel", "--me");

    await untilRuns(1);
    const told = /its allocation was cancelled in Slurm \(job \d+\)/;
    for (const words of [
      ["jobs", "events", "1"],
      ["events", "plain"],
    ])
      await until(async () => told.test((await control.cli(...words)).stdout) || undefined);
    await client.callAndGet(jobOperations.cancel, { job_ids: [1] });
    await untilNothingIsLeft();
  },
);

test("a launch tells what its allocation failed with", options, async (t) => {
  const env = { OUTRIGGER_SLURM_SCRATCH: "/proc/none" };
  const { slurm, control } = await startOnSlurm(t, { env });
  const task = aTask("true", { resources: { infra: "slurm/local/low" } });
  const message = /: its allocation failed \(job 1\): mkdir: cannot create directory .*proc.none/;

  await assert.rejects(clusterOf(control, "one").launch(task), { message });

  assert.equal(
    await slurm.run("squeue", "--noheader", "--states=all", "--format=%i %T"),
    "1 FAILED",
  );
});

test("an idle allocation ends though control is away", options, async (t) => {
  // Agents wait for control, but not for long.
  const programs = mkdtempSync(join(tmpdir(), "slurm-sbatch-"));
  t.after(() => rmSync(programs, { recursive: true }));
  const script =
    '#!/bin/sh\nexport OUTRIGGER_SELF_STOP_AFTER_SECONDS=1\nexec /usr/bin/sbatch "$@"\n';
  writeFileSync(join(programs, "sbatch"), script, { mode: 0o755 });
  const env = { PATH: `${programs}:${process.env["PATH"]}` };
  const { slurm, control, untilNothingIsLeft } = await startOnSlurm(t, { env });
  const idle = clusterOf(control, "idle");
  const done = join(control.home, "done");
  const task = aTask(`until [ -e ${done} ]; do sleep 0.1; done`);
  await idle.launch(task, { idle_minutes_to_autostop: 0, down: true });
  await idle.untilJob(1, "RUNNING");
  await control.end("SIGKILL");
  assert.equal(await slurm.run("squeue", "--noheader", "--format=%T"), "RUNNING");

  writeFileSync(done, "");

  await until(async () => (await slurm.run("squeue", "--noheader")) === "" || undefined);
  await control.start();
  await until(async () => (await idle.status()) === undefined || undefined);
  await untilNothingIsLeft();
});
