import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findBearers } from "../../../common/process-tree.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { workspaceOperations as workspaces } from "../../../contract/operations/workspaces.ts";
import { runScript } from "../../../control/jobs/callbacks/script.ts";
import { until } from "../../helpers/agent.ts";
import { type JobBed, jobBed } from "./bed.ts";

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "callback-"));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

const withCallback = (script: string): string =>
  JSON.stringify({ name: "train", run: "train", event_callback: script });

/** Waits until a script has written so many lines. */
const linesOf = (file: string, count: number): Promise<string[]> =>
  until(() => {
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    return lines.length >= count ? lines : undefined;
  });

async function runAndSucceed(bed: JobBed): Promise<void> {
  await bed.untilTask(1, "RUNNING");
  (await bed.agent(1)).end(1, "SUCCEEDED");
  await bed.untilSettled(1);
}

test("a callback runs for each change of its job, in order", async (t) => {
  const file = join(aFolder(t), "told");
  const bed = await jobBed(t);
  await bed.launch(
    withCallback(`echo "$JOB_STATUS $JOB_ID $TASK_ID $TASK_NAME $EVENT_TYPE" >> ${file}`),
  );
  await bed.untilTask(1, "RUNNING");
  await bed.world.provider.lose((await bed.task(1)).clusterId ?? "", 0);
  await bed.untilAttempt(1, 2);
  await runAndSucceed(bed);

  const lines = await linesOf(file, 6);

  const told = ["SUBMITTED", "STARTING", "STARTED", "RECOVERING", "RECOVERED", "SUCCEEDED"];
  assert.deepEqual(
    lines,
    told.map((status) => `${status} 1 0 train Spot`),
  );
  await bed.until(1, ({ calledBack }) => calledBack === null);
});

test("a callback that takes too long is ended, and told as an event", async (t) => {
  const { timeout } = AbortSignal;
  const shorter = (ms: number) => timeout.call(AbortSignal, ms === 60_000 ? 300 : ms);
  t.mock.method(AbortSignal, "timeout", shorter);
  const bed = await jobBed(t);
  await bed.launch(withCallback('[ "$JOB_STATUS" != STARTED ] || exec sleep 1000'));
  await runAndSucceed(bed);
  await bed.until(1, ({ calledBack }) => calledBack === null);

  const told = (await bed.remarks(1)).filter((reason) => /event_callback/.test(reason));
  assert.deepEqual(told, ["event_callback for STARTED took longer than its 60 s and was ended"]);
});

test("callbacks of a pipeline run one after the other, in its order", async (t) => {
  const file = join(aFolder(t), "told");
  const bed = await jobBed(t);
  const event_callback = `echo "begin $TASK_ID $JOB_STATUS" >> ${file}; sleep 0.05; echo end >> ${file}`;
  const tasks = ["prep", "train"].map((name) => ({ name, run: name, event_callback }));
  await bed.launch([{ name: "pipe" }, ...tasks].map((one) => JSON.stringify(one)).join("\n---\n"));
  for (const number of [0, 1]) {
    await bed.untilTask([1, number], "RUNNING");
    (await bed.agent([1, number])).end(1, "SUCCEEDED");
  }
  await bed.until([1, 1], ({ calledBack }) => calledBack === null);

  const changes = ["STARTING", "STARTED", "SUCCEEDED"];
  const told = [
    ...[0, 1].map((number) => `${number} SUBMITTED`),
    ...[0, 1].flatMap((number) => changes.map((status) => `${number} ${status}`)),
  ];
  assert.deepEqual(
    await linesOf(file, 2 * told.length),
    told.flatMap((one) => [`begin ${one}`, "end"]),
  );
});

test("a callback that hangs holds nothing up, and hears of the rest later", async (t) => {
  const folder = aFolder(t);
  const [file, gate] = [join(folder, "told"), join(folder, "gate")];
  const before = await jobBed(t);
  const waits = `echo "$JOB_STATUS" >> ${file}; until [ -e ${gate} ]; do sleep 0.02; done`;
  await before.launch(withCallback(waits));
  await runAndSucceed(before);
  assert.deepEqual(await linesOf(file, 1), ["SUBMITTED"]);

  const bed = await before.crash();
  writeFileSync(gate, "");
  const lines = await linesOf(file, 5);

  // What control was killed in is told again.
  assert.deepEqual(new Set(lines), new Set(["SUBMITTED", "STARTING", "STARTED", "SUCCEEDED"]));
  assert.equal(lines.at(-1), "SUCCEEDED");
  await bed.until(1, ({ calledBack }) => calledBack === null);
});

test("a callback that fails is told as an event, and the job goes on", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(withCallback('[ "$JOB_STATUS" != STARTED ] || { echo no network; exit 7; }'));
  await runAndSucceed(bed);
  await bed.until(1, ({ calledBack }) => calledBack === null);

  const events = await bed.world.run(rows.events, { job_id: 1, limit: null });

  const failures = events.filter(({ reason }) => /event_callback/.test(reason ?? ""));
  assert.deepEqual(
    failures.map(({ reason }) => reason),
    ["event_callback for STARTED exited with 7; it printed last:\n  no network"],
  );
  assert.equal((await bed.task(1)).status, "SUCCEEDED");
});

test("a script that takes too long is ended with all that it started", async (t) => {
  const folder = aFolder(t);
  const text = "setsid sleep 1000 & trap '' TERM; echo begun; sleep 1000";

  const failure = await runScript({ text, folder, env: { PATH: "/usr/bin:/bin" } }, t.signal, 300);

  assert.equal(failure, "took longer than its 0.3 s and was ended; it printed last:\n  begun");
  assert.deepEqual(findBearers(`HOME=${folder}`), []);
});

test("what a script leaves behind ends with it", async (t) => {
  const folder = aFolder(t);

  const failure = await runScript(
    { text: "setsid sleep 1000 &", folder, env: { PATH: "/usr/bin:/bin" } },
    t.signal,
  );

  assert.equal(failure, undefined);
  assert.deepEqual(findBearers(`HOME=${folder}`), []);
});

test("where a workspace may not use this machine, callbacks are refused", async (t) => {
  const bed = await jobBed(t);
  const config = { workspaces: { default: { allowed_infra: ["ssh/lab"] } } };
  await bed.world.run(workspaces.updateConfig, { config });

  await assert.rejects(bed.launch(withCallback("true")), {
    type: "UserRequestRejectedByPolicy",
    message: /^workspace default: event_callback runs on the machine of the control plane/,
  });
});

test("a workspace that loses this machine loses the callbacks of its jobs", async (t) => {
  const file = join(aFolder(t), "told");
  const bed = await jobBed(t);
  await bed.launch(withCallback(`echo "$JOB_STATUS" >> ${file}`));
  await bed.untilTask(1, "RUNNING");
  await linesOf(file, 3);
  const config = { workspaces: { default: { allowed_infra: ["ssh/lab"] } } };
  await bed.world.run(workspaces.updateConfig, { config });

  (await bed.agent(1)).end(1, "SUCCEEDED");
  await bed.until(1, ({ calledBack }) => calledBack === null);

  assert.equal((await linesOf(file, 3)).length, 3);
  assert.match(
    (await bed.remarks(1)).join("\n"),
    /event_callback for SUCCEEDED was not run: workspace default can no longer use local/,
  );
});

test("a script of any length runs, is on no command line, and one that cannot be started says why", async (t) => {
  const folder = aFolder(t);
  const signal = new AbortController().signal;
  const long = `tr "\\0" " " < /proc/$$/cmdline > ${folder}/line\n# token-of-a-webhook ${"x".repeat(200_000)}\n`;

  assert.equal(
    await runScript({ text: long, folder, env: process.env as never }, signal),
    undefined,
  );
  assert.doesNotMatch(readFileSync(join(folder, "line"), "utf8"), /token/);
  const env = { ...process.env, TOO_LONG: "x".repeat(200_000) } as never;
  assert.match(
    (await runScript({ text: "true", folder, env }, signal)) ?? "",
    /^could not be started: .*E2BIG/,
  );
});
