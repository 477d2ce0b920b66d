import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { listProcesses, type ProcessStat } from "../../../common/process-tree.ts";
import { eventsOf, startAgent, until } from "../../helpers/agent.ts";
import { condaRun, condaSays, installConda } from "../../helpers/conda.ts";

const accelerators = { name: "H100", count: 2 };
const agent = await startAgent({ after }, { cpus: 2, accelerators });

test("a job is set up, runs, and leaves its exit code and its log", async () => {
  const { id } = await agent.submit("echo runs; exit 7", { setup: "echo is set up" });
  const job = await agent.untilJob(id);

  assert.equal(job.status, "FAILED");
  assert.equal(job.reason, "run exited with 7");
  assert.equal(job.exitCode, 7);
  assert.equal(await agent.log(id), "is set up\nruns\n");
  assert.ok(
    job.submittedAt <= Number(job.startedAt) && Number(job.startedAt) <= Number(job.endedAt),
  );
});

test("a job whose setup fails does not run", async () => {
  const { id } = await agent.submit("echo runs", { setup: "exit 4" });
  const job = await agent.untilJob(id);

  assert.equal(job.status, "FAILED_SETUP");
  assert.equal(job.reason, "setup exited with 4");
  assert.equal(await agent.log(id), "");
});

test("a job without scripts succeeds", async () => {
  const { id } = await agent.submit(null);

  assert.equal((await agent.untilJob(id)).status, "SUCCEEDED");
});

test("a script reaches bash as it was written", async () => {
  const run = "cat <<'EOF'\n\"$HOME\" `x` 'y' \\ Grüße 🚣\nEOF\necho \"EOF\"\n\n# end";
  const { id } = await agent.submit(run);
  await agent.untilJob(id);

  assert.equal(await agent.log(id), "\"$HOME\" `x` 'y' \\ Grüße 🚣\nEOF\n");
});

test("a script reads an empty input and starts in the folder that has both names", async () => {
  const { id } = await agent.submit("wc -c; pwd -P");
  await agent.untilJob(id);

  assert.equal(await agent.log(id), `0\n${join(agent.home, "outrigger_workdir")}\n`);
  assert.ok(lstatSync(join(agent.home, "sky_workdir")).isSymbolicLink());
});

test("a script sees its task's variables, its secrets and its place in the cluster", async () => {
  const names = ["GREETING", "TOKEN", "OUTRIGGER_NODE_RANK", "SKYPILOT_NODE_IPS"];
  names.push("SKYPILOT_NUM_NODES", "SKYPILOT_NUM_GPUS_PER_NODE", "CUDA_VISIBLE_DEVICES");
  names.push("OUTRIGGER_TASK_ID", "OUTRIGGER_INTERNAL_JOB_ID", "SKYPILOT_USER", "USER");
  const { id } = await agent.submit(names.map((name) => `echo "${name}=$${name}"`).join("\n"), {
    env: { GREETING: "a 'quoted' one", OUTRIGGER_TASK_ID: "given before" },
    secrets: { TOKEN: "s3cret" },
    demand: { cpus: 1, accelerators: 2 },
  });
  await agent.untilJob(id);

  assert.equal(
    await agent.log(id),
    [
      "GREETING=a 'quoted' one",
      "TOKEN=s3cret",
      "OUTRIGGER_NODE_RANK=0",
      "SKYPILOT_NODE_IPS=127.0.0.1",
      "SKYPILOT_NUM_NODES=1",
      "SKYPILOT_NUM_GPUS_PER_NODE=2",
      "CUDA_VISIBLE_DEVICES=0,1",
      "OUTRIGGER_TASK_ID=given before",
      `OUTRIGGER_INTERNAL_JOB_ID=${id}`,
      "SKYPILOT_USER=ada",
      `USER=${userInfo().username}`,
      "",
    ].join("\n"),
  );
});

test("jobs start in the order they came; one that does not fit holds back the later ones", async () => {
  const gate = join(agent.home, "gate");
  const first = await agent.submit(`until [ -e ${gate} ]; do read -t 0.01 <> <(:); done`, {
    demand: { cpus: 1, accelerators: 0 },
  });
  await agent.untilJob(first.id, "RUNNING");
  const large = await agent.submit("true", { demand: { cpus: 2, accelerators: 0 } });
  const small = await agent.submit("true", { demand: { cpus: 0.5, accelerators: 0 } });

  assert.equal((await agent.call("getJob", small)).status, "PENDING");
  const active = await agent.call("listJobs", { active: "true" });
  assert.deepEqual(
    active.map(({ id }) => id),
    [small.id, large.id, first.id],
  );

  writeFileSync(gate, "");
  const [largeDone, smallDone] = [await agent.untilJob(large.id), await agent.untilJob(small.id)];
  assert.ok(Number(largeDone.endedAt) <= Number(smallDone.startedAt));
});

test("two jobs with an accelerator each get different ones", async () => {
  const demand = { cpus: 0.5, accelerators: 1 };
  const meet = (mine: string, other: string) =>
    `echo "gpu $CUDA_VISIBLE_DEVICES"; touch ~/${mine}; until [ -e ~/${other} ]; do :; done`;
  const jobs = [
    await agent.submit(meet("a", "b"), { demand }),
    await agent.submit(meet("b", "a"), { demand }),
  ];
  for (const { id } of jobs) await agent.untilJob(id, "SUCCEEDED");

  const logs = await Promise.all(jobs.map(({ id }) => agent.log(id)));
  assert.deepEqual(logs.sort(), ["gpu 0\n", "gpu 1\n"]);
});

test("the same submission twice is one job", async () => {
  const submissionId = "the same";
  const [first, second] = await Promise.all([
    agent.submit("echo once", { submissionId }),
    agent.submit("echo once", { submissionId }),
  ]);
  await agent.untilJob(first.id);
  const third = await agent.submit("echo once", { submissionId });

  assert.deepEqual([second.id, third.id], [first.id, first.id]);
  assert.equal(await agent.log(first.id), "once\n");
});

test("a head continues the numbers of the cluster's jobs", async () => {
  const first = await agent.submit("true", { lastJobId: 500 });
  const second = await agent.submit("true", { lastJobId: 7 });

  assert.deepEqual([first.id, second.id], [501, 502]);
});

test("a job that asks for more than the node has is refused at once", async () => {
  await assert.rejects(agent.submit("true", { demand: { cpus: 3, accelerators: 0 } }), {
    name: "ValueError",
    message: "the job asks for 3 CPUs a node, but a node has 2; ask for less",
  });
});

test("the end of a job is the end of what it left in the background", async () => {
  const { id } = await agent.submit("setsid sleep 1000 & echo $! > ~/left; true");
  await agent.untilJob(id, "SUCCEEDED");
  const pid = Number(readFileSync(join(agent.home, "left"), "utf8"));

  assert.equal(existsSync(`/proc/${pid}/exe`), false);
});

test("a script whose process vanishes makes the job FAILED_DRIVER, and says so", async () => {
  const { id } = await agent.submit("kill -9 $PPID; exec sleep 1000");
  const job = await agent.untilJob(id);

  assert.equal(job.status, "FAILED_DRIVER");
  assert.equal(job.reason, "the process of its run script is gone and left no exit code");
});

test("what setup writes to ~/.bashrc is there for run, also behind an early return", async (t) => {
  const bashrc = join(agent.home, ".bashrc");
  t.after(() => rmSync(bashrc, { force: true }));
  const profile = join(agent.home, ".profile");
  t.after(() => rmSync(profile));
  const locked = "export LOCKED=1; readonly LOCKED\n";
  writeFileSync(profile, locked);
  const guard = "case $- in *i*) ;; *) return ;; esac\necho noise; cd /; sleep 60 &\n";
  for (const before of [locked, `${guard}${locked}`]) {
    writeFileSync(bashrc, before);
    const setup = `echo 'export SEEN="a
 b" OWN=theirs; greet() { echo "$1 $SEEN $OWN"; }' >> ~/.bashrc`;
    const { id } = await agent.submit(
      'greet hello; echo "$0 $# $PWD" | grep -c outrigger_workdir; no',
      {
        setup,
        env: { OWN: "given" },
      },
    );
    assert.equal((await agent.untilJob(id)).exitCode, 127);

    const [, , , complaint = "", ...rest] = (await agent.log(id)).split("\n");
    assert.match(await agent.log(id), /^hello a\n b given\n1\n/);
    assert.match(complaint, /run.sh: line 1: no: command not found/);
    assert.deepEqual(rest, [""]);
  }
});

test("the conda that setup installed is there for run, with environments to activate", async (t) => {
  t.after(() => rmSync(join(agent.home, ".bashrc")));
  const root = join(agent.home, "miniconda3");
  const { id } = await agent.submit(condaRun, { setup: installConda(root) });
  await agent.untilJob(id);

  assert.equal(await agent.log(id), condaSays);
});

test("a setup that a node has completed is skipped where the job says so", async () => {
  const setup = "echo set up >> ~/setups; [ ! -e ~/fail ]";
  const submit = async (more: object) => {
    const { id } = await agent.submit("wc -l < ~/setups", { setup, ...more });
    return [(await agent.untilJob(id)).status, await agent.log(id)];
  };

  assert.deepEqual(await submit({ reusesSetup: true }), ["SUCCEEDED", "1\n"]);
  assert.deepEqual(await submit({ reusesSetup: true }), ["SUCCEEDED", "1\n"]);
  assert.deepEqual(await submit({}), ["SUCCEEDED", "2\n"]);

  writeFileSync(join(agent.home, "fail"), "");
  assert.deepEqual(await submit({}), ["FAILED_SETUP", ""]);
  rmSync(join(agent.home, "fail"));
  assert.deepEqual(await submit({ reusesSetup: true }), ["SUCCEEDED", "4\n"]);
  const other = { setup: "true" };
  assert.deepEqual(await submit(other), ["SUCCEEDED", "4\n"]);
  assert.deepEqual(await submit({ reusesSetup: true }), ["SUCCEEDED", "5\n"]);
});

test("events tell every move, in order, after the one a reader saw last", async () => {
  const { lastSeq } = await agent.call("health", {});
  const { body } = await agent.open("events", { after: lastSeq });
  const { id } = await agent.submit("true", { setup: "true" });
  const seen: string[] = [];
  for await (const { jobId, status } of eventsOf(body)) {
    if (jobId === id) seen.push(status);
    if (status === "SUCCEEDED") break;
  }

  assert.equal((await agent.call("getJob", { id })).status, "SUCCEEDED");
  assert.deepEqual(seen, ["PENDING", "SETTING_UP", "RUNNING", "SUCCEEDED"]);
});

test("many jobs leave no open file and no process behind", async () => {
  const before = openFiles(agent.pid);
  const jobs = await Promise.all(
    Array.from({ length: 40 }, () =>
      agent.submit("true", { demand: { cpus: 0.2, accelerators: 0 } }),
    ),
  );
  for (const { id } of jobs) await agent.untilJob(id, "SUCCEEDED");

  const isNew = (target: string) => !before.includes(target);
  await until(() => {
    const now = openFiles(agent.pid);
    return (now.length <= before.length && !now.some(isNew)) || undefined;
  });
  const isOurs = ({ parent, alive }: ProcessStat) => parent === agent.pid && alive;
  await until(() => !listProcesses().some(isOurs) || undefined);
});

/** What a process has open besides its connections. */
const openFiles = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`)
    .map((fd) => targetOf(`/proc/${pid}/fd/${fd}`))
    .filter((target) => target !== "" && !target.startsWith("socket:"));

/** What is open may be closed while it is looked at. */
function targetOf(handle: string): string {
  try {
    return readlinkSync(handle);
  } catch {
    return "";
  }
}
