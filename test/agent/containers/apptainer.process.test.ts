import assert from "node:assert/strict";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { findBearers } from "../../../common/process-tree.ts";
import { toFrame } from "../../../contract/shell-api.ts";
import { removeContainer, startAgent, type TestAgent, text, until } from "../../helpers/agent.ts";
import { installApptainer, whyNoApptainer } from "../../helpers/apptainer.ts";
import { makeRoot, makeStaticRoot } from "../../helpers/engines.ts";
import { bring } from "../../helpers/files.ts";
import { nobody } from "../../helpers/nobody.ts";

const options = { skip: whyNoApptainer() };
const ends: (() => Promise<void>)[] = [];
after(async () => {
  for (const end of ends) await end();
});
const started = { after: (end: () => Promise<void>) => void ends.unshift(end) };
const programs = mkdtempSync(join(tmpdir(), "apptainer-"));
started.after(async () => rmSync(programs, { recursive: true }));
const lab = installApptainer(programs);
const node = options.skip ? undefined : await startNode();

/** A node of a user without rights, who has Apptainer alone. */
async function startNode(): Promise<TestAgent> {
  const archive = makeRoot(programs);
  for (const name of ["lab/busy:1", "lab/other:1"]) lab.addImage(name, archive);
  lab.addImage("lab/private:1", archive, { login: "ana:pass word" });
  lab.addImage("lab/static:1", makeStaticRoot(join(programs, "static")));
  const home = mkdtempSync(join(tmpdir(), "node-"));
  for (const path of [home, programs]) chownSync(path, nobody, nobody);
  const proxy = "http://proxy:3128";
  lab.addImage("lab/far:1", archive, { proxy });
  lab.addImage("lab/endless:1", archive, { endless: true });
  const env = {
    DOCKER_HOST: "unix:///nowhere",
    https_proxy: proxy,
    PATH: `${programs}:${process.env["PATH"]}`,
  };
  const through = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  return startAgent(started, { home, env, through, cpus: 8 });
}

async function put(image: string, more: object = {}): Promise<string> {
  const order = { clusterId: "c0ffee", image, login: null, ...more };
  const news = await node?.open("putContainer", order);
  return (news === undefined ? "" : await text(news.body)).trim().split("\n").at(-1) ?? "";
}

async function outcomeOf(agent: TestAgent, run: string, more = {}) {
  const { id } = await agent.submit(run, more);
  const { status, exitCode } = await agent.untilJob(id);
  return { status, exitCode, said: await agent.log(id) };
}

if (node) {
  test("a job runs in the image as its user, with its environment, home and exit code", async () => {
    assert.match(await put("lab/busy:1"), /"done".*was made by apptainer/);
    const run = `pwd; tool; id -u; echo "$GREETING, $SECRET, $HOME, $FROM_BASHRC, $OF_IMAGE"
echo "[$DOCKER_HOST$APPTAINER_DOCKER_PASSWORD]"; [ -e /etc/debian_version ] || echo not here
touch ~/left; echo wrong >&2; exit 7`;
    const more = { env: { GREETING: "it's\n$HOME" }, secrets: { SECRET: "s3" } };

    const { status, exitCode, said } = await outcomeOf(node, run, more);

    assert.deepEqual(said.split("\n"), [
      ...[join(node.home, "outrigger_workdir"), "the tool of the image", `${nobody}`, "it's"],
      ...[`$HOME, s3, ${node.home}, yes, yes`, "[]", "not here", "wrong", ""],
    ]);
    assert.deepEqual([status, exitCode], ["FAILED", 7]);
    assert.ok(existsSync(join(node.home, "left")));
  });

  test("what setup installs is there for later jobs, also after the same image was put again", async () => {
    const setup = "printf 'echo installed' > /usr/bin/thing; chmod +x /usr/bin/thing";
    assert.equal((await outcomeOf(node, "thing", { setup })).said, "installed\n");
    assert.match(await put("lab/busy:1"), /its container runs in apptainer/);
    assert.equal((await outcomeOf(node, "thing")).said, "installed\n");
  });

  test("cancelling lets a job clean up once, and ends what it left in the background", async () => {
    const run = `(setsid sleep 1000 &)
      trap 'echo saved; exit 0' TERM
      echo ready
      while :; do sleep 0.1; done`;
    const { id } = await node.submit(run);
    await until(async () => (await node.log(id)).includes("ready") || undefined);
    const mark = `OUTRIGGER_JOB_FOLDER=${join(node.home, ".outrigger/jobs", String(id))}`;
    assert.ok(findBearers(mark).some((one) => one.name === "sleep"));

    const { status } = await node.call("cancelJob", { id, graceMs: 30_000 });

    assert.equal(status, "CANCELLED");
    assert.equal((await node.log(id)).match(/saved/g)?.length, 1);
    assert.deepEqual(findBearers(mark), []);
  });

  test("a job goes on while its agent is killed, and its log and end are whole", async () => {
    const run = "echo before; until [ -e ~/go ]; do sleep 0.1; done; echo after; exit 3";
    const { id } = await node.submit(run);
    await until(async () => (await node.log(id)).includes("before") || undefined);
    await node.end("SIGKILL");
    await node.start();
    writeFileSync(join(node.home, "go"), "");

    assert.equal((await node.untilJob(id)).exitCode, 3);
    assert.equal(await node.log(id), "before\nafter\n");
  });

  test("files outside of the home are there for the next job, at places that the image lacks", async (t) => {
    const outside = mkdtempSync("/var/tmp/outside-");
    const place = mkdtempSync("/opt/seen-");
    t.after(() => [outside, place].forEach((path) => void rmSync(path, { recursive: true })));
    for (const path of [outside, place]) chownSync(path, nobody, nobody);
    mkdirSync(join(outside, "volume"));
    writeFileSync(join(outside, "volume/file"), "of the volume\n");
    const source = { kind: "folder", path: join(outside, "volume") } as const;
    await node.call("attachVolume", { destination: join(place, "at"), subPath: "", source });

    await bring(node, join(place, "one.yaml"), { "": "of the task\n" });

    const { said } = await outcomeOf(node, `cat ${place}/at/file ${place}/one.yaml`);

    assert.equal(said, "of the volume\nof the task\n");
  });

  test("another image replaces the container, but not while a job runs in it", async () => {
    const { id } = await node.submit("echo ready; sleep 1000");
    await until(async () => (await node.log(id)).includes("ready") || undefined);
    assert.match(await put("lab/other:1"), /cannot be replaced while job \d+ runs in it/);
    await node.call("cancelJob", { id, graceMs: 0 });
    await outcomeOf(node, "mkdir -p /deep/er && chmod 500 /deep");
    assert.match(await put("lab/other:1"), /"done"/);
    assert.equal((await outcomeOf(node, "ls -d /deep /usr/bin/thing | wc -l")).said.at(-2), "0");
  });

  test("an image without bash runs jobs in its sh", async () => {
    assert.match(await put("lab/static:1"), /"done"/);
    const run = 'echo "$0"; echo "$PATH"; env | grep ^__; ls /bin/bash; exit 3';
    const { said, exitCode } = await outcomeOf(node, run);
    assert.match(said, /run\.sh\n\/opt\/tool\/bin:\/usr\/bin:\/bin\nls: /);
    assert.equal(exitCode, 3);
  });

  test("a shell with a terminal opens in the container", async () => {
    await put("lab/busy:1");
    const terminal = { columns: 80, rows: 24, type: "xterm" };
    const start = toFrame({ command: "tool; test -t 0; exit $(($? + 4))", terminal });
    const { body } = await node.open("openShell", {}, Readable.from([Buffer.from(start)]));
    const said = await text(body);
    assert.match(said, /the tool of the image/);
    assert.match(said, /"code":4,"signal":null/);
  });

  test("a container that is gone is built again for the next job", async () => {
    await put("lab/busy:1");
    removeContainer(node.home);
    assert.equal((await outcomeOf(node, "tool")).said, "the tool of the image\n");
  });

  test("a launch removes the container from the program that had it before", async () => {
    const folder = join(node.home, ".outrigger/agent");
    const kept = { clusterId: "c0ffee", image: "lab/busy:1", runOptions: [], engine: "docker" };
    writeFileSync(join(folder, "container.json"), JSON.stringify(kept));
    const removed = join(node.home, "removed");
    writeFileSync(join(folder, "remove-container"), `[ -e ~/up ] && touch ${removed}`);
    assert.equal((await outcomeOf(node, "tool")).said, "");
    assert.match(await put("lab/busy:1"), /CloudError.*docker does not answer/);
    writeFileSync(join(node.home, "up"), "");

    assert.match(await put("lab/busy:1"), /"done"/);

    assert.ok(existsSync(removed));
    assert.equal((await outcomeOf(node, "tool")).said, "the tool of the image\n");
  });

  test("jobs stay in their image after a launch with another one was refused", async () => {
    await put("lab/busy:1");
    assert.match(await put("lab/static:1", { runOptions: ["--shm-size=8g"] }), /ValueError/);
    assert.equal((await outcomeOf(node, "tool; ls /bin/bash")).exitCode, 0);
  });

  test("a job is cancelled while its container is built again", async () => {
    await put("lab/busy:1");
    removeContainer(node.home);
    lab.addImage("lab/busy:1", "", { endless: true });
    const { id } = await node.submit("true");
    await until(() => existsSync(join(node.home, ".outrigger/agent/container.tmp")) || undefined);

    const { status } = await node.call("cancelJob", { id, graceMs: 0 });

    assert.equal(status, "CANCELLED");
    lab.addImage("lab/busy:1", "");
    assert.equal((await outcomeOf(node, "tool")).said, "the tool of the image\n");
  });

  test("a launch that is given up ends its pull, and leaves nothing of it", async () => {
    const agentFolder = join(node.home, ".outrigger/agent");
    const builders = () => findBearers(`TMPDIR=${join(agentFolder, "container.tmp")}`);
    const order = { clusterId: "c0ffee", image: "lab/endless:1", login: null };
    const { body } = await node.open("putContainer", order);
    await until(() => builders().some(({ name }) => name === "sleep") || undefined);

    body.destroy();

    await until(() => !existsSync(join(agentFolder, "container.tmp")) || undefined);
    assert.deepEqual(builders(), []);
  });

  test("an image is pulled through the proxy of jobs", async () => {
    assert.match(await put("lab/far:1"), /"done"/);
  });

  test("an image that cannot be pulled is refused with what to do; a login is used for the pull alone", async () => {
    assert.match(await put("no/such:1"), /NotFoundError.*check its name and tag/);
    assert.match(await put("lab/private:1"), /PermissionDeniedError.*DOCKER_USERNAME/);
    const login = { server: "registry", user: "ana", password: "wrong" };
    assert.match(await put("lab/private:1", { login }), /PermissionDeniedError/);
    const right = { login: { ...login, password: "pass word" } };
    assert.match(await put("lab/private:1", right), /"done"/);
    const folder = join(node.home, ".outrigger/agent");
    const left = readdirSync(folder).filter((name) => name.startsWith("container"));
    assert.deepEqual(left, ["container", "container.image", "container.json"]);

    const refused = await put("lab/private:1", { runOptions: ["--shm-size=8g"] });
    assert.match(refused, /ValueError.*run_options.*unknown flag: --shm-size/);
  });
} else test("Apptainer", options, () => {});
