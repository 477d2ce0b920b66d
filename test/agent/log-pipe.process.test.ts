import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { collector, markOfWriter, openOutput, untilWritten } from "../../agent/log-pipe.ts";
import { runScript } from "../../agent/process.ts";
import { findBearers } from "../../common/process-tree.ts";
import { startAgent, text, until } from "../helpers/agent.ts";
import { aHook, hookLog, letGo, logOnNode, play, putHooks, untilFile } from "./lifecycles/steps.ts";

/** Ways to write to an output by its name, each with the lines that it writes. */
const ways: Record<string, [script: string, lines: string]> = {
  bash: [
    "echo 1; echo 2 > /dev/stderr; echo 3 > /dev/stdout; echo 4 > /proc/self/fd/2; echo 5 >&2",
    "1\n2\n3\n4\n5\n",
  ],
  sh: ["sh -c 'echo 1; echo 2 > /dev/stderr; echo 3 > /dev/stdout; echo 4 >&2'", "1\n2\n3\n4\n"],
  tee: ["echo 1; echo 2 | tee /dev/stderr; echo 3", "1\n2\n2\n3\n"],
  awk: ["echo 1; awk 'BEGIN { print 2 > \"/dev/stderr\" }'; echo 3", "1\n2\n3\n"],
  "a file kept open": [
    "exec 3> /dev/stderr; echo 1; echo 2 >&3; echo 3; echo 4 >&3",
    "1\n2\n3\n4\n",
  ],
  program: [
    `'${process.execPath}' -e 'fs.writeSync(1, "1\\n"); fs.writeFileSync("/dev/stderr", "2\\n"); fs.appendFileSync("/dev/stdout", "3\\n")'; echo 4`,
    "1\n2\n3\n4\n",
  ],
};

for (const [way, [script, lines]] of Object.entries(ways))
  test(`what ${way} writes to /dev/stderr is one more line of the log`, async (t) => {
    const { run, log } = aPlace(t);
    assert.deepEqual(await run(`echo before; ${script}; exit 3`), { code: 3 });

    assert.equal(log(), `before\n${lines}`);
  });

test("python writes to /dev/stderr as to any file", async (t) => {
  const { run, log } = aPlace(t);
  const program = `for mode in "wa":
    with open("/dev/stderr", mode) as file: file.write(mode + "\\n")`;
  const outcome = await run(`command -v python3 > /dev/null || exit 9; python3 -c '${program}'`);
  if ("code" in outcome && outcome.code === 9) return t.skip("there is no python3");

  assert.equal(log(), "w\na\n");
});

test("a user that a script becomes writes there too", async (t) => {
  if (process.getuid?.() !== 0) return t.skip("only root becomes another user");
  const { run, log } = aPlace(t);
  const asNobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
  await run(`echo 1; ${asNobody} sh -c 'echo 2 > /dev/stderr; echo 3 > /dev/stdout'`);

  assert.equal(log(), "1\n2\n3\n");
});

test("every byte of a lot is in the log once the script has ended, and no pipe is left", async (t) => {
  const { run, log, folder } = aPlace(t);
  await run("seq 300000; seq 300000 >&2");
  const numbers = Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join("");

  assert.equal(log(), numbers + numbers);
  await until(() => !readdirSync(folder).some((name) => name.endsWith(".pipe")) || undefined);
});

/** Writes a line while nobody gets to put it into the log; answers how to let them. */
async function writeHeldUp({ folder, logFile }: ReturnType<typeof aPlace>): Promise<() => void> {
  const output = await openOutput({ name: "hook", folder, logFile });
  const { pid } = await until(() =>
    findBearers(markOfWriter(logFile)).find(({ name }) => name === "cat"),
  );
  process.kill(pid, "SIGSTOP");
  writeSync(output, "last\n");
  closeSync(output);
  return () => process.kill(pid, "SIGCONT");
}

test("however slow its disk, the last line of a script is waited for", async (t) => {
  const place = aPlace(t);
  const letOn = await writeHeldUp(place);
  const isSomebodyLeft = () => {
    letOn();
    return false;
  };
  await untilWritten(place.folder, ["hook"], isSomebodyLeft, t.signal);

  assert.equal(place.log(), "last\n");
});

test("who is left of a script and may have its output open holds nothing up", async (t) => {
  const place = aPlace(t);
  const letOn = await writeHeldUp(place);
  await untilWritten(place.folder, ["hook"], () => true, t.signal);

  assert.equal(place.log(), "");
  letOn();
  await until(() => place.log() === "last\n" || undefined);
});

test("whoever follows a job gets every line, also of one that opens its output anew", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit(
    "echo 1; touch ~/in; until [ -e ~/go ]; do sleep 0.01; done; echo 2 > /dev/stderr; echo 3; echo 4 > /dev/stdout",
  );
  await untilFile(agent, "in");
  const { body } = await agent.open("readLog", { id, follow: "true" });
  await agent.end("SIGKILL");
  const cut = await text(body).catch(() => "1\n");
  await agent.start();
  const offset = Buffer.byteLength(cut);
  const rest = await agent.open("readLog", { id, offset, follow: "true" });
  letGo(agent);

  assert.equal(cut + (await text(rest.body)), "1\n2\n3\n4\n");
  assert.equal((await agent.untilJob(id)).status, "SUCCEEDED");
});

test("a hook that opens its output anew loses no line, neither its own nor ours", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook("echo one; exit 7"),
    aHook("echo two; echo three > /dev/stderr; echo four"),
  ]);
  const lifecycle = await play(agent, "stop");

  const lines = /^one\n.* hook 1 of 2 \(stop\) failed .*\ntwo\nthree\nfour\n$/;
  assert.match(logOnNode(agent, "stop"), lines);
  assert.match(await hookLog(agent, lifecycle, "stop"), lines);
});

test("a log whose file system is gone keeps nobody busy, and nobody waiting", () => {
  const input = "line\n".repeat(100_000);
  const args = ["-c", 'exec sh -c "$0" sh /dev/null/none >&-', collector];
  const { error } = spawnSync("sh", args, { input, timeout: 60_000 });

  assert.equal(error, undefined, "it took all and ended");
});

test("who writes for others outlives the TERM to them, and what it writes is there in time", async (t) => {
  const { run, log, logFile } = aPlace(t);
  await run("trap 'sleep 0.1; echo told; exit 5' TERM; kill -- -$PPID; sleep 987");

  assert.match(log(), /told\n$/);
  await until(() => findBearers(markOfWriter(logFile)).length === 0 || undefined);
});

/** A folder that scripts run in, and what they wrote. */
function aPlace(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "scripts-"));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 3 }));
  const logFile = join(folder, "log");
  const where = { name: "hook", folder, workdir: folder, workdirLink: null, logFile };
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
  return {
    ...{ folder, logFile },
    log: () => readFileSync(logFile, "utf8"),
    run: (script: string) =>
      runScript({ ...where, text: script, env, mark: `HOME=${folder}` }, t.signal),
  };
}
