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
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { findBearers, isAlive } from "../../../common/process-tree.ts";
import { removeContainer, startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import { condaRun, condaSays, installConda } from "../../helpers/conda.ts";
import { makeStaticRoot, startEngine, whyNoEngine } from "../../helpers/engines.ts";
import { startRegistry, whyNoRegistry } from "../../helpers/registry.ts";

const clusterId = "c0ffee";

/** Has the agent run its scripts in a container; the last line of its news. */
async function put(agent: TestAgent, image: string, more: object = {}): Promise<object> {
  const { body } = await agent.open("putContainer", { clusterId, image, login: null, ...more });
  const lines = (await text(body)).trim().split("\n");
  return JSON.parse(lines.at(-1) ?? "{}");
}

async function outputOf(agent: TestAgent, run: string, more = {}): Promise<string> {
  const { id } = await agent.submit(run, more);
  await agent.untilJob(id);
  return agent.log(id);
}

/** What was started last ends first. */
const ends: (() => Promise<void>)[] = [];
const started = { after: (end: () => Promise<void>) => void ends.unshift(end) };
after(async () => {
  for (const end of ends) await end();
});

const names = ["docker", "podman"] as const;
// All are started before the first test, at whose end the file would end them.
const nodes: Awaited<ReturnType<typeof startNode>>[] = [];
for (const name of names) if (!whyNoEngine(name)) nodes.push(await startNode(name));
for (const name of names)
  describe(name, { skip: whyNoEngine(name) }, () => {
    const node = nodes.find((one) => one.name === name);
    if (node) inContainersOf(node);
  });

async function startNode(name: "docker" | "podman") {
  const engine = await startEngine(started, name);
  const agent = await startAgent(started, { env: engine.env, cpus: 8 });
  assert.deepEqual(Object.keys(await put(agent, engine.image)), ["done"]);
  return { name, engine, agent };
}

function inContainersOf({ name, engine, agent }: Awaited<ReturnType<typeof startNode>>): void {
  test("a job runs in the image, with its environment, home, shell settings and exit code", async () => {
    const run = [
      "pwd",
      "tool",
      'echo "$GREETING, $SECRET, $HOME, $FROM_BASHRC, $DOCKER_HOST"',
      "[ -e /etc/debian_version ] || echo not here",
      "sudo -E env | grep ^GREETING",
      "touch ~/left",
      "echo wrong >&2",
      "exit 7",
    ].join("\n");
    const env = { GREETING: "it's\n$HOME", DOCKER_HOST: "tcp://elsewhere" };
    const { id } = await agent.submit(run, { env, secrets: { SECRET: "s3" } });
    const job = await agent.untilJob(id);

    const [folder, tool, ...others] = (await agent.log(id)).split("\n");
    assert.equal(folder, join(agent.home, "outrigger_workdir"));
    assert.equal(tool, "the tool of the image");
    assert.deepEqual(others, [
      "it's",
      `$HOME, s3, ${agent.home}, yes, tcp://elsewhere`,
      "not here",
      "GREETING=it's",
      "wrong",
      "",
    ]);
    assert.deepEqual([job.status, job.exitCode], ["FAILED", 7]);
    assert.equal(readFileSync(join(agent.home, "left"), "utf8"), "");
  });

  test("what setup installs is there for later jobs, and for shells", async () => {
    const setup =
      "echo 'echo installed' > /usr/bin/thing; chmod +x /usr/bin/thing; echo 'export A=1' >> ~/.bashrc";
    assert.equal(await outputOf(agent, 'thing; echo "$A"', { setup }), "installed\n1\n");
    assert.equal(await outputOf(agent, 'thing; echo "$A"'), "installed\n1\n");
  });

  test("the conda of an image is there for run, with environments to activate", async () => {
    const setup = installConda("/opt/conda");
    assert.equal(await outputOf(agent, condaRun, { setup }), condaSays);
    assert.equal(await outputOf(agent, condaRun), condaSays);
  });

  test("cancelling lets a job clean up, and ends what it left in the background", async () => {
    const run = `
      (setsid sleep 1000 &)
      trap 'echo saved; exit 0' TERM
      echo ready
      while :; do sleep 0.1; done`;
    const { id } = await agent.submit(run);
    await until(async () => (await agent.log(id)).includes("ready") || undefined);
    const mark = `OUTRIGGER_JOB_FOLDER=${join(agent.home, ".outrigger/jobs", String(id))}`;
    assert.ok(findBearers(mark).some((one) => one.name === "sleep"));
    const { status } = await agent.call("cancelJob", { id, graceMs: 30_000 });

    assert.equal(status, "CANCELLED");
    assert.match(await agent.log(id), /^ready\n(Terminated\n)?saved$/m);
    assert.deepEqual(findBearers(mark), []);
  });

  test("a job that is cancelled while its container is looked for does not begin", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "slow-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const [slow, asked] = [join(folder, "slow"), join(folder, "asked")];
    const wait = `[ "$1" != container ] || { touch ${asked}; while [ -e ${slow} ]; do sleep 0.05; done; }`;
    const PATH = process.env["PATH"] ?? "";
    const program = join(folder, name);
    const rest = `PATH='${PATH}' exec ${name} "$@"`;
    writeFileSync(program, `#!/bin/sh\n${wait}\n${rest}\n`, { mode: 0o755 });
    const waiting = await startAgent(t, { env: { ...engine.env, PATH: `${folder}:${PATH}` } });
    await put(waiting, engine.image, { clusterId: "51deca" });
    rmSync(asked);
    writeFileSync(slow, "");

    const { id } = await waiting.submit("touch ~/began");
    await until(() => existsSync(asked) || undefined);
    assert.equal((await waiting.call("cancelJob", { id, graceMs: 0 })).status, "CANCELLED");
    rmSync(slow);
    assert.equal(await outputOf(waiting, "[ -e ~/began ] || echo none"), "none\n");
    const claim = join(waiting.home, ".outrigger/jobs", String(id), "run.claim");
    assert.equal(existsSync(claim), false);
  });

  test("a job whose container ends says so, and the next one gets another", async () => {
    const { id } = await agent.submit("echo ready; sleep 1000");
    await until(async () => (await agent.log(id)).includes("ready") || undefined);
    removeContainer(agent.home);
    const { status, reason } = await agent.untilJob(id);

    assert.equal(status, "FAILED_DRIVER");
    assert.equal(reason, "its container ended");
    assert.equal(await outputOf(agent, "tool"), "the tool of the image\n");
  });

  test("a job that exceeds its memory, or that of its container, fails for that", async (t) => {
    // Podman notes it where the agent was started.
    t.after(() => rmSync("oom", { force: true }));
    const grow = "x=$(head -c 1000000 /dev/zero | tr '\\0' a); while :; do x=$x$x; done";
    const reasonOf = async (run: string, limits = {}) => {
      const { id } = await agent.submit(run, { limits });
      const { status, reason } = await agent.untilJob(id);
      return `${status}: ${reason}`;
    };
    const limits = { memoryBytes: 64 * 2 ** 20 };
    assert.match(await reasonOf(grow, limits), /^FAILED: .*its memory limit of 0\.06 GB/);

    await put(agent, engine.image, { runOptions: ["--memory=64m"] });
    // A shell of its own, so that something is left to tell.
    const grown = `bash -c "${grow.replaceAll("$", "\\$")}"`;
    const killed = await reasonOf(`${grown}; exit $?`);
    assert.match(killed, /^FAILED: .*a process in its container was killed for lack of memory/);
    assert.doesNotMatch(await reasonOf(`${grown}; exit 3`), /its container/);
    assert.doesNotMatch(await reasonOf("kill -9 $$"), /its container/);
    await put(agent, engine.image);
  });

  test("a job goes on when its container gets TERM where that announces the end of the node", async (t) => {
    const env = { ...engine.env, OUTRIGGER_ON_TERM: "preemption" };
    const leaving = await startAgent(t, { env });
    await put(leaving, engine.image, { clusterId: "decaf" });
    const run = "echo begun; until [ -e ~/on ]; do sleep 0.1; done; echo ends";
    const { id } = await leaving.submit(run);
    await until(async () => (await leaving.log(id)).includes("begun") || undefined);

    const container = await engine.run("ps", "-q", "--filter", "label=outrigger.cluster=decaf");
    await engine.run("kill", "-s", "TERM", container);
    writeFileSync(join(leaving.home, "on"), "");

    assert.equal((await leaving.untilJob(id)).status, "SUCCEEDED");
    assert.equal(await leaving.log(id), "begun\nends\n");
  });

  test("a job goes on while its agent is killed, and its log and end are whole", async () => {
    const go = join(agent.home, "go");
    const { id } = await agent.submit(
      `echo before; until [ -e ${go} ]; do sleep 0.1; done; echo after; exit 3`,
    );
    await until(async () => (await agent.log(id)).includes("before") || undefined);
    await agent.end("SIGKILL");
    await agent.start();
    writeFileSync(go, "");
    const { exitCode } = await agent.untilJob(id);

    assert.equal(exitCode, 3);
    assert.equal(await agent.log(id), "before\nafter\n");
  });

  test("files outside of the home are there, and a container that lacks them is replaced only while no job runs", async (t) => {
    const outside = mkdtempSync(join(tmpdir(), "outside-"));
    t.after(async () => rmSync(outside, { recursive: true, force: true }));
    mkdirSync(join(outside, "volume"));
    writeFileSync(join(outside, "volume/file"), "of the volume\n");
    const source = { kind: "folder", path: join(outside, "volume") } as const;
    for (const destination of [join(outside, "seen"), "~/link"])
      await agent.call("attachVolume", { destination, subPath: "", source });
    const { id } = await agent.submit("sleep 1000");
    await agent.untilJob(id, "RUNNING");
    assert.match(
      JSON.stringify(await put(agent, engine.image)),
      /cannot be replaced while job \d+ runs in it/,
    );
    await agent.call("cancelJob", { id, graceMs: 0 });
    await put(agent, engine.image);

    const run = `cat ${outside}/seen/file ~/link/file`;
    assert.equal(await outputOf(agent, run), "of the volume\nof the volume\n");
  });

  test("an image that cannot be had is refused with what to do", async () => {
    assert.match(
      JSON.stringify(await put(agent, "localhost:9/no/such:1")),
      /"problem".*localhost:9/,
    );
    if (engine.env["CONTAINERS_CONF"] === undefined) return;
    // As within an allocation of Slurm.
    const more = { runOptions: ["--cgroups=disabled"] };
    const refused = await put(agent, engine.image, more);
    assert.match(JSON.stringify(refused), /NotSupportedError.*install crun/);
  });

  test("an image without glibc and bash runs jobs in its sh", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "static-"));
    t.after(() => rmSync(folder, { recursive: true }));
    await engine.run("import", makeStaticRoot(folder), "lab/static:1");
    assert.match(JSON.stringify(await put(agent, "lab/static:1")), /"done"/);
    const { id } = await agent.submit(
      'echo "$0 $WHO"; ls /lib* /bin/bash; cat /proc/1/comm; exit 3',
      {
        setup: "echo me > ~/who",
        env: { WHO: "it's me" },
      },
    );
    assert.equal((await agent.untilJob(id)).exitCode, 3);
    assert.match(await agent.log(id), /run\.sh it's me\n(ls: .*\n)+sh\n$/);
    await put(agent, engine.image);
  });

  test("a private image is pulled with the login of the task alone", {
    skip: whyNoRegistry(),
  }, async () => {
    const [user, password] = ["ana", "pass word"];
    const server = await startRegistry(started, user, password);
    const image = `${server}/private:1`;
    await engine.run("tag", engine.image, image);
    const file = join(agent.home, "auth.json");
    const login = Buffer.from(`${user}:${password}`).toString("base64");
    writeFileSync(file, JSON.stringify({ auths: { [server]: { auth: login } } }));
    await engine.push(image, file);
    await engine.run("rmi", image);
    const wrong = await put(agent, image, { login: { server, user, password: "wrong" } });
    assert.match(JSON.stringify(wrong), /PermissionDeniedError.*check the secrets DOCKER_USERNAME/);
    assert.match(JSON.stringify(await put(agent, image)), /PermissionDeniedError/);
    const right = await put(agent, image, { login: { server, user, password } });

    assert.match(JSON.stringify(right), /is there, and its container was started/);
    assert.deepEqual(
      readdirSync(join(agent.home, ".outrigger/agent")).filter((one) => one.startsWith("login-")),
      [],
    );
    assert.match(JSON.stringify(await put(agent, engine.image)), /"done"/);
  });

  test("limits hold in the container, and its processes are those of the user", async () => {
    const { id } = await agent.submit("echo ready; sleep 1000", { limits: { processes: 40 } });
    await until(async () => (await agent.log(id)).includes("ready") || undefined);
    const mark = `OUTRIGGER_JOB_FOLDER=${join(agent.home, ".outrigger/jobs", String(id))}`;
    const sleep = await until(() => findBearers(mark).find(({ name }) => name === "sleep"));
    assert.ok(isAlive(sleep));
    assert.match(readFileSync(`/proc/${sleep.pid}/cgroup`, "utf8"), /outrigger-jobs-\d+-/);
    await agent.call("cancelJob", { id, graceMs: 0 });
  });
}
