import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { appendHookLine } from "../../../agent/hooks/logs.ts";
import { runScript } from "../../../agent/process.ts";
import { hookEvents } from "../../../contract/hooks.ts";
import { startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import {
  aHook,
  begin,
  findFile,
  hookLog,
  logOnNode,
  outcomes,
  play,
  processesOf,
  putHooks,
  soon,
  unspoilt,
  untilStatus,
} from "../lifecycles/steps.ts";

test("hooks of an event run in the order of the list and see which event it is", async (t) => {
  const agent = await startAgent(t);
  const say = (name: string) => `echo ${name} $HOOK_EVENT $OUTRIGGER_HOOK_EVENT`;
  await putHooks(agent, [
    aHook(say("a")),
    aHook(say("b"), { events: ["stop"] }),
    aHook(say("c"), { events: ["down", "preemption"] }),
    aHook(say("d"), { events: ["preemption", "stop"] }),
  ]);
  const told = { stop: "abd", preemption: "acd", down: "ac" };

  for (const event of hookEvents) {
    const { id, runs, hooks } = await play(agent, event);
    const lines = [...told[event]].map((name) => `${name} ${event} ${event}\n`);

    assert.equal(await hookLog(agent, { id }, event), lines.join(""));
    assert.equal(logOnNode(agent, event), lines.join(""));
    assert.deepEqual(
      runs.map((run) => run.status),
      lines.map(() => "SUCCEEDED"),
    );
    assert.equal(hooks, 4);
    await agent.call("cancelLifecycle", { id });
  }
});

test("a hook has the task's environment, the node's, its own, an empty input and the folder", async (t) => {
  const agent = await startAgent(t, { rank: 0, addresses: ["10.0.0.1", "10.0.0.2"] });
  mkdirSync(join(agent.home, "outrigger_workdir"));
  const names = "A TOKEN OUTRIGGER_NODE_RANK SKYPILOT_NUM_NODES OUTRIGGER_NODE_IPS".split(" ");
  const own = "HOOK_INDEX HOOK_TIMEOUT LIFECYCLE_ID".split(" ");
  const all = [...names, ...own.map((name) => `SKYPILOT_${name}`)];
  const left = "echo $((OUTRIGGER_HOOK_DEADLINE - $(date +%s) > 50))";
  await putHooks(
    agent,
    [aHook(`for i in ${all.join(" ")}; do echo $i=\${!i}; done; ${left}; wc -c; pwd`)],
    { env: { A: "a b" }, secrets: { TOKEN: "abc" } },
  );
  const { id } = await play(agent, "stop");

  assert.equal(
    await hookLog(agent, { id }, "stop"),
    `A=a b\nTOKEN=abc\nOUTRIGGER_NODE_RANK=0\nSKYPILOT_NUM_NODES=2\n` +
      `OUTRIGGER_NODE_IPS=10.0.0.1 10.0.0.2\nSKYPILOT_HOOK_INDEX=0\nSKYPILOT_HOOK_TIMEOUT=60\n` +
      `SKYPILOT_LIFECYCLE_ID=${id}\n1\n0\n${agent.home}/outrigger_workdir\n`,
  );
});

test("without a folder of a task a hook starts in the home, and makes nothing there", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("pwd; ls")]);
  const lifecycle = await play(agent, "stop");

  assert.equal(await hookLog(agent, lifecycle, "stop"), `${agent.home}\n`);
});

test("the text of a hook survives as it is written", async (t) => {
  const agent = await startAgent(t);
  const run = `cat <<'EOF'\n"double" 'single' \\n \`tick\` $HOME $(id) — naïve ☃ 日本\n EOF\nEOF\nprintf '%s' "$0"`;
  await putHooks(agent, [aHook(run)]);
  const { id } = await play(agent, "stop");

  const folder = `${agent.home}/.outrigger/agent/lifecycles/${id}/0`;
  assert.equal(
    await hookLog(agent, { id }, "stop"),
    `"double" 'single' \\n \`tick\` $HOME $(id) — naïve ☃ 日本\n EOF\n${folder}/hook.sh`,
  );
});

test("a script that two agents start at once runs once, and both learn how it ended", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "scripts-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const logFile = join(folder, "log");
  const where = { name: "hook", folder, workdir: folder, workdirLink: null, logFile };
  const script = {
    ...where,
    text: "echo ran; sleep 0.1; exit 4",
    env: { PATH: "/usr/bin:/bin", HOME: folder },
    mark: `HOME=${folder}`,
  };
  const runs = Array.from({ length: 4 }, () => runScript(script, new AbortController().signal));

  for (const outcome of await Promise.all(runs)) assert.deepEqual(outcome, { code: 4 });
  assert.equal(readFileSync(logFile, "utf8"), "ran\n");
});

test("a line about a hook that is written again after a crash stands once", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "lines-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "log");
  writeFileSync(path, "no newline");
  appendHookLine(path, "hook 1 of 2 (stop)", "failed after 1.0 s: it exited with 7");
  appendHookLine(path, "hook 1 of 2 (stop)", "left 1 process running");
  appendHookLine(path, "hook 1 of 2 (stop)", "failed after 2.0 s: it exited with 7");

  assert.equal(
    readFileSync(path, "utf8"),
    "no newline\n[outrigger] hook 1 of 2 (stop) failed after 1.0 s: it exited with 7\n" +
      "[outrigger] hook 1 of 2 (stop) left 1 process running\n",
  );
});

/** What came of a hook that got as far as `~/in` before its time was over. */
const inTime = <T extends { agent: TestAgent }>(work: () => Promise<T>): Promise<T> =>
  unspoilt(work, ({ agent }) => findFile(agent, "in") !== undefined);

test("what fails or takes too long is told, and the rest goes on in its order", async (t) => {
  const { agent, lifecycle } = await inTime(async () => {
    const agent = await startAgent(t);
    await putHooks(agent, [
      aHook("echo one"),
      aHook("echo two; exit 7"),
      aHook("echo three; touch ~/in; sleep 987", { timeoutSeconds: 1 }),
      aHook("echo never", { events: ["down"] }),
      aHook("echo -n four; exit 1"),
      aHook("echo five"),
    ]);
    return { agent, lifecycle: await play(agent, "stop") };
  });

  assert.deepEqual(outcomes(lifecycle), [
    "0 stop SUCCEEDED 0",
    "1 stop FAILED 7",
    "2 stop TIMED_OUT 124",
    "4 stop FAILED 1",
    "5 stop SUCCEEDED 0",
  ]);
  assert.match(
    await hookLog(agent, lifecycle, "stop"),
    /^one\ntwo\n\[outrigger\] hook 2 of 6 \(stop\) failed after [\d.]+ s: it exited with 7\nthree\n.*\[outrigger\] hook 3 of 6 \(stop\) timed out after [\d.]+ s \(code 124\): it took longer than its 1 s\nfour\n\[outrigger\] hook 5 of 6 \(stop\) failed after [\d.]+ s: it exited with 1\nfive\n$/s,
  );
  assert.deepEqual(processesOf(agent), []);
  const side = JSON.parse(findFile(agent, ".outrigger/hooks/stop.json") ?? "");
  assert.equal(side.lifecycle, lifecycle.id);
  assert.deepEqual(
    side.hooks.map((one: { exitCode: number }) => one.exitCode),
    [0, 7, 124, 1, 0],
  );
});

test("a hook that ignores TERM is killed in time", async (t) => {
  const { agent, lifecycle } = await inTime(async () => {
    const agent = await startAgent(t);
    const run = "trap '' TERM; echo in; touch ~/in; while :; do sleep 0.1; done";
    await putHooks(agent, [aHook(run, { timeoutSeconds: 1 })]);
    return { agent, lifecycle: await play(agent, "stop", { deadlineAt: soon(2_500) }) };
  });

  assert.deepEqual(outcomes(lifecycle), ["0 stop TIMED_OUT 124"]);
  assert.match(
    await hookLog(agent, lifecycle, "stop"),
    /^in\n(.*Killed.*\n)?\[outrigger\] hook 1 of 1 .*\n$/,
  );
  assert.deepEqual(processesOf(agent), []);
});

test("a time-out ends also what forked twice into a session of its own", async (t) => {
  const away = "(setsid -f bash -c '(trap \"\" TERM; echo $$ > ~/in; exec sleep 987) &' &)";
  const { agent, lifecycle } = await inTime(async () => {
    const agent = await startAgent(t);
    await putHooks(agent, [aHook(`${away}; sleep 987`, { timeoutSeconds: 1 })]);
    return { agent, lifecycle: await play(agent, "stop", { deadlineAt: soon(3_000) }) };
  });

  assert.deepEqual(outcomes(lifecycle), ["0 stop TIMED_OUT 124"]);
  assert.deepEqual(processesOf(agent), []);
});

test("what a hook leaves in the background holds nothing up, is counted, and ends with the lifecycle", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook("setsid sleep 987 & sleep 988 & disown -a"),
    aHook("until [ -e ~/go ]; do sleep 0.05; done"),
  ]);
  const begun = await begin(agent, "stop");
  const [first] = await until(async () => {
    const { runs } = await agent.call("getLifecycle", begun);
    return runs.length === 2 ? runs : undefined;
  });
  assert.equal(first?.status, "SUCCEEDED");
  assert.match(
    logOnNode(agent, "stop"),
    /^\[outrigger\] hook 1 of 2 \(stop\) left 2 processes running\n/,
  );
  const countSleepers = () => processesOf(agent).filter(({ name }) => name === "sleep").length;
  await until(() => countSleepers() >= 2 || undefined);
  writeFileSync(join(agent.home, "go"), "");
  await untilStatus(agent, begun, "READY");

  assert.deepEqual(processesOf(agent), []);
});
