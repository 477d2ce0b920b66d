import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { zipOf } from "../control/uploads/zips.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { controlLine, fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";
import { aJob, anEvent, page } from "./managed-jobs.ts";

const logOf =
  (text: string): Handler =>
  (_seen, res) =>
    void res.writeHead(200, { "x-skypilot-request-id": "log-1" }).end(text);
/** Results of requests in their order; that of the log is an exit code. */
function answers(code: number, ...results: unknown[]): Handler {
  return ({ query }, res) => {
    const value = query.get("request_id") === "log-1" ? code : results.shift();
    sendJson(res, 200, { status: "SUCCEEDED", return_value: JSON.stringify(value) });
  };
}
const usual: Routes = {
  "POST /jobs/launch": { result: { job_id: [3], handle: null } },
  "POST /jobs/queue/v2": page(aJob()),
  "POST /jobs/cancel": {},
  "POST /jobs/events": { result: [anEvent] },
  "POST /jobs/wait": { result: 100 },
};
/** A command line, the route that it must call, and fields that the call must carry. */
const calls: readonly [string, string, object][] = [
  ["jobs queue", "POST /jobs/queue/v2", { page: 1, limit: 50, all_users: false }],
  ["jobs queue -s -u -l 5", "POST /jobs/queue/v2", { skip_finished: true, limit: 5 }],
  [
    "jobs events 3 -l 4 --clusters",
    "POST /jobs/events",
    { limit: 4, include_cluster_events: true },
  ],
  ["jobs events -n train", "POST /jobs/events", { job_id: 3, limit: null }],
  ["jobs cancel 3 4", "POST /jobs/cancel", { job_ids: [3, 4], name: null, all: false }],
  ["jobs cancel -n train", "POST /jobs/cancel", { job_ids: null, name: "train" }],
  ["jobs cancel 3 --task eval", "POST /jobs/cancel", { job_ids: [3], task: "eval" }],
  ["jobs wait 3 1", "POST /jobs/wait", { job_id: 3, task: 1 }],
  [
    "jobs launch -d --group 7 true",
    "POST /jobs/launch",
    { parent_job_id: 7, job_group_explicit: true },
  ],
  ["jobs cancel -a -y", "POST /jobs/cancel", { all: true, all_users: false, job_ids: null }],
  ["jobs cancel -p warm -y", "POST /jobs/cancel", { pool: "warm", all: false, job_ids: null }],
  ["jobs launch -d -p warm true", "POST /jobs/launch", { pool: "warm" }],
  ["jobs cancel -u -y", "POST /jobs/cancel", { all: false, all_users: true }],
];

for (const [line, route, fields] of calls)
  test(`\`outrigger ${line}\` calls ${route}`, async (t) => {
    const control = await fakeControl(t, usual);
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, line.startsWith("jobs wait") ? 100 : 0, stderr);
    assert.partialDeepStrictEqual(control.to(route)[0]?.body, fields);
  });

for (const [line, message] of [
  ["jobs launch", /say what to run/],
  ["jobs cancel", /pass numbers of managed jobs, --name, --pool, --all or --all-users/],
  ["jobs cancel 3 -a", /pass numbers of managed jobs/],
  ["jobs cancel -a", /no terminal to ask on; pass -y/],
  ["jobs logs 3 4 -n train", /pass the number of the job or --name, and at most one task of it/],
  ["jobs cancel 3 4 --task eval", /--task is a task of one job/],
] as const)
  test(`\`outrigger ${line}\` is refused`, async (t) => {
    const outrigger = await commandLine(t, (await fakeControl(t, usual)).endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, 2);
    assert.match(stderr, message);
  });

test("jobs queue shows managed jobs, what they wait for, and that there are more", async (t) => {
  const waiting = aJob({
    job_id: 4,
    status: "PENDING",
    details: "waits until there is a machine for it: none",
  });
  const control = await fakeControl(t, { "POST /jobs/queue/v2": page(waiting, aJob()) });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout, stderr } = await outrigger(["jobs", "queue"]);

  assert.match(stdout, /ID +NAME +STATUS +SUBMITTED +DURATION +RECOVERIES +INFRA/);
  assert.match(stdout, /3 +train +RUNNING .* 1m 30s +1 +ssh\/lab/);
  assert.match(stderr, /Job 4 is PENDING: waits until there is a machine for it: none\n/);
  assert.match(stderr, /The newest 2 of 60; --limit shows more/);
});

test("jobs launch submits the task, follows its log, and exits as the job does", async (t) => {
  const failed = page(aJob({ status: "FAILED", failure_reason: "run exited with 3" }));
  const control = await fakeControl(t, {
    ...usual,
    "POST /jobs/logs": logOf("step 1\n"),
    "GET /api/get": answers(100, { job_id: [3], handle: null }, failed.result),
  });
  const outrigger = await commandLine(t, control.endpoint);
  writeFileSync(join(outrigger.folder, "train.yaml"), "name: train\nrun: train\n");

  const { code, stdout, stderr } = await outrigger(["jobs", "launch", "train.yaml"]);

  assert.equal(code, 100, stderr);
  assert.equal(stdout, "step 1\n");
  assert.match(stderr, /Managed job 3 FAILED: run exited with 3/);
  assert.match(stderr, /logs +outrigger jobs logs 3/);
});

test("jobs launch -d prints the number of the job", async (t) => {
  const outrigger = await commandLine(t, (await fakeControl(t, usual)).endpoint);

  const { code, stdout } = await outrigger(["jobs", "launch", "-d", "echo hello"]);

  assert.deepEqual([code, stdout], [0, "3\n"]);
});

test("jobs launch --num-jobs submits copies, prints the number of each, and follows none", async (t) => {
  const control = await fakeControl(t, {
    ...usual,
    "POST /jobs/launch": { result: { job_id: [3, 4], handle: null } },
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout } = await outrigger(["jobs", "launch", "--num-jobs", "2", "true"]);

  assert.deepEqual([code, stdout], [0, "3\n4\n"]);
  assert.partialDeepStrictEqual(control.to("POST /jobs/launch")[0]?.body, { num_jobs: 2 });
});

test("jobs wait tells of each task of a pipeline", async (t) => {
  const tasks = ["prep", "train"].map((task_name, task_id) =>
    aJob({ task_id, task_name, execution: "serial", status: "SUCCEEDED" }),
  );
  const control = await fakeControl(t, { ...usual, "POST /jobs/queue/v2": page(...tasks) });
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["jobs", "wait", "3", "train"]);

  assert.match(stderr, /job 3, task 0 \(prep\): SUCCEEDED.*job 3, task 1 \(train\): SUCCEEDED/s);
});

test("jobs logs shows what the job waits for beside its log", async (t) => {
  const control = await fakeControl(t, {
    ...usual,
    "POST /jobs/logs": logOf(`${controlLine("rich_update", "Managed job 3 is PENDING")}step 1\n`),
    "GET /api/get": answers(0, page(aJob({ status: "SUCCEEDED" })).result),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(["jobs", "logs", "3"]);

  assert.deepEqual([code, stdout], [0, "step 1\n"]);
  assert.match(stderr, /Managed job 3 is PENDING\n.*Managed job 3 SUCCEEDED/s);
});

test("jobs logs of a job that there is not is an error, and ends so", async (t) => {
  const text = "there is no managed job 9; list them with: outrigger jobs queue\n";
  const control = await fakeControl(t, {
    "POST /jobs/logs": logOf(text),
    "GET /api/get": answers(102, { jobs: [], total: 0 }),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(["jobs", "logs", "9"]);

  assert.deepEqual([code, stdout, stderr], [102, "", `error: ${text}`]);
});

test("jobs wait exits as the job does, and tells why", async (t) => {
  const failed = page(aJob({ status: "FAILED", failure_reason: "run exited with 3" }));
  const control = await fakeControl(t, { ...usual, "POST /jobs/queue/v2": failed });
  const outrigger = await commandLine(t, control.endpoint);

  const told = await outrigger(["jobs", "wait", "-n", "train"]);
  const json = await outrigger(["jobs", "wait", "3", "-o", "json"]);

  assert.equal(told.code, 100);
  assert.match(told.stderr, /Managed job 3 FAILED: run exited with 3/);
  assert.partialDeepStrictEqual(control.to("POST /jobs/wait")[0]?.body, { job_id: 3, name: null });
  assert.equal(JSON.parse(json.stdout)[0].status_reason, "run exited with 3");
});

test("jobs events shows what happened, the oldest first", async (t) => {
  const began = { ...anEvent, new_status: "PENDING", reason: "submitted by ann" };
  const control = await fakeControl(t, { "POST /jobs/events": { result: [anEvent, began] } });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["jobs", "events", "3"]);

  assert.match(
    stdout,
    /WHEN +STATUS +WHAT\n.*PENDING +submitted by ann\n.*RECOVERING +its machine/,
  );
});

test("jobs download writes the log of each attempt to a file of its own", async (t) => {
  const zip = await zipOf({ "attempt-1.log": "one\n", "attempt-2.log": "two\n" });
  const control = await fakeControl(t, {
    "POST /jobs/download_logs": { result: { 3: "~/logs/managed-job-3" } },
    "POST /download": (_seen, res) => void res.end(zip),
  });
  const outrigger = await commandLine(t, control.endpoint);
  const { HOME = "" } = process.env;
  process.env["HOME"] = outrigger.folder;
  t.after(() => {
    process.env["HOME"] = HOME;
  });

  const { stdout, stderr } = await outrigger(["jobs", "download", "3"]);

  const files = stdout.trim().split("\n");
  assert.deepEqual(
    files.map((file) => readFileSync(file, "utf8")),
    ["one\n", "two\n"],
    stderr,
  );
  assert.match(stdout, /outrigger_logs\/managed-job-3\/attempt-1.log\n/);
});

for (const command of ["events", "download"])
  test(`jobs ${command} of a job that there is not is an error`, async (t) => {
    const control = await fakeControl(t, {
      "POST /jobs/events": { result: [] },
      "POST /jobs/download_logs": { result: {} },
    });
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(["jobs", command, "9"]);

    assert.equal(code, 3);
    assert.match(stderr, /there is no managed job 9; list them with: outrigger jobs queue/);
  });

test("of a task that names its pool no plan is shown: which machines that has is settled", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);
  writeFileSync(join(outrigger.folder, "train.yaml"), "pool: warm\nrun: train\n");

  const { stderr } = await outrigger(wordsOf("jobs launch -d train.yaml"), { typed: "y\n" });

  assert.match(stderr, /Launch a managed job\?/);
  assert.deepEqual(control.to("POST /optimize"), []);
  assert.equal(control.to("POST /jobs/launch").length, 1);
});
