import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";
import { usual } from "./usual-routes.ts";

/** A control plane where job 7 ends with a code and a status. */
const endingWith = (code: number, status: string, reason?: string): Routes => {
  const results: Readonly<Record<string, unknown>> = {
    ...{ "launch-1": { job_id: 7, handle: null }, "log-1": code, "status-1": { 7: status } },
    "queue-1": [{ job_id: 7, status, metadata: reason === undefined ? {} : { reason } }],
  };
  const stored =
    (id: string): Handler =>
    (_seen, res) =>
      void res.setHeader("x-skypilot-request-id", id).end("null");
  return {
    ...usual,
    "POST /launch": stored("launch-1"),
    "POST /exec": stored("launch-1"),
    "POST /job_status": stored("status-1"),
    "POST /queue": stored("queue-1"),
    "GET /api/stream": (_seen, res) => void res.end(""),
    "GET /api/get": ({ query }, res) =>
      sendJson(res, 200, {
        return_value: JSON.stringify(results[query.get("request_id") ?? ""]),
      }),
  };
};

const red = "\u001b[31m";
const green = "\u001b[32m";

const endings: readonly [string, number, string, string, string][] = [
  ["launch -y -c dev x", 0, "SUCCEEDED", "Job 7 SUCCEEDED on dev", green],
  ["launch -y -c dev x", 100, "FAILED", "Job 7 FAILED on dev", red],
  ["launch -y -c dev x", 100, "FAILED_SETUP", "Job 7 FAILED (setup) on dev", red],
  ["exec dev x", 100, "FAILED_DRIVER", "Job 7 FAILED (driver) on dev", red],
  ["exec dev x", 103, "CANCELLED", "Job 7 CANCELLED on dev", "\u001b[2m"],
  ["logs dev", 100, "FAILED_SETUP", "Job 7 FAILED (setup) on dev", red],
  ["logs dev 7", 0, "SUCCEEDED", "Job 7 SUCCEEDED on dev", green],
];

for (const [line, exit, status, told, colour] of endings)
  test(`\`outrigger ${line}\` says of a job that is ${status}: ${told}`, async (t) => {
    const control = await fakeControl(t, endingWith(exit, status));
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stdout, stderr } = await outrigger(wordsOf(line));
    const live = await outrigger(wordsOf(line), { columns: 80 });
    const plain = await outrigger(wordsOf(line), { columns: 80, env: { NO_COLOR: "1" } });

    assert.deepEqual([code, stdout], [exit, "hello\n"]);
    assert.ok(stderr.split("\n").includes(told), stderr);
    assert.doesNotMatch(stderr, /outrigger cancel/);
    assert.ok(live.stderr.includes(`${colour}Job 7`), live.stderr);
    assert.ok(plain.stderr.includes(`${told}\n`));
    assert.ok(!plain.stderr.includes(colour));
  });

test("a failure is told with its reason", async (t) => {
  const control = await fakeControl(t, endingWith(100, "FAILED", "rank 1: run exited with 9"));
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["logs", "dev", "7"]);

  assert.equal(stderr, "Job 7 FAILED on dev: rank 1: run exited with 9\n");
});

test("a failure on a cluster that went is told without its kind", async (t) => {
  const { "POST /queue": _, ...routes } = endingWith(100, "FAILED_SETUP");
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["logs", "dev", "7"]);

  assert.deepEqual([code, stderr], [100, "Job 7 FAILED on dev\n"]);
});

test("a job that was not followed, or did not end, can be cancelled", async (t) => {
  const control = await fakeControl(t, endingWith(101, "RUNNING"));
  const outrigger = await commandLine(t, control.endpoint);

  const detached = await outrigger(["exec", "dev", "-d", "x"]);
  const unended = await outrigger(["exec", "dev", "x"]);
  const glimpse = await outrigger(["logs", "dev", "7", "--no-follow"]);

  assert.match(detached.stderr, /^Job 7 on dev\n.*logs.*\n {2}cancel +outrigger cancel dev 7\n/m);
  assert.match(unended.stderr, /cancel +outrigger cancel dev 7/);
  assert.doesNotMatch(unended.stderr, /Job 7/);
  assert.deepEqual([glimpse.code, glimpse.stderr], [101, ""]);
});

test("what a job waits for is said on stderr, before its log begins and when it changes", async (t) => {
  const told = (reason: string) =>
    `<sky-payload>"<rich_update>Job 7 waits for ${reason}</rich_update>"</sky-payload>\n`;
  const text = `${told("1 CPU: jobs 3, 4 use all 2")}${told("1 CPU: job 4 uses all 2")}hello\n`;
  const control = await fakeControl(t, {
    ...endingWith(0, "SUCCEEDED"),
    "POST /logs": (_seen, res) =>
      void res.writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" }).end(text),
  });
  const outrigger = await commandLine(t, control.endpoint);

  for (const line of ["logs dev 7", "exec dev x"]) {
    const { stdout, stderr } = await outrigger(wordsOf(line));

    assert.equal(stdout, "hello\n");
    assert.match(
      stderr,
      /Job 7 waits for 1 CPU: jobs 3, 4 use all 2\nJob 7 waits for 1 CPU: job 4 uses all 2\nJob 7 SUCCEEDED/,
    );
  }
});

test("`outrigger queue` says below its table what jobs wait for, the next one first", async (t) => {
  const jobs = Array.from({ length: 8 }, (_, index) => ({
    ...{ job_id: 8 - index, job_name: "a", username: "ana", user_hash: "ana" },
    ...{ submitted_at: 1, start_at: null, end_at: null, resources: "1x[CPU:1]" },
    status: index === 7 ? "RUNNING" : "PENDING",
    metadata: index === 7 ? {} : { reason: `waits for ${8 - index}` },
  }));
  const control = await fakeControl(t, { ...usual, "POST /queue": { result: jobs } });
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["queue", "dev"]);
  const json = await outrigger(["queue", "dev", "-o", "json"]);

  const first = [2, 3, 4, 5, 6].map((id) => `Job ${id} waits for ${id}\n`).join("");
  assert.equal(stderr, `${first}2 more are waiting.\n`);
  assert.equal(json.stderr, "");
  assert.equal(JSON.parse(json.stdout)[0].status_reason, "waits for 8");
});

test("Ctrl-C in the log of the latest job names the job", async (t) => {
  const abort = new AbortController();
  const follows: Handler = (_seen, res) => {
    res.writeHead(200, { "x-skypilot-request-id": "r" });
    res.write("step 1\n", () => abort.abort());
  };
  const control = await fakeControl(t, { ...endingWith(0, "RUNNING"), "POST /logs": follows });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["logs", "dev"], { signal: abort.signal });

  assert.equal(code, 130);
  assert.match(stderr, /The job keeps running\. Follow it again: outrigger logs dev 7/);
});

test("Ctrl-C in a launch is no failure of it", async (t) => {
  const abort = new AbortController();
  const follows: Handler = (_seen, res) => void res.write("1 node up\n", () => abort.abort());
  const control = await fakeControl(t, { ...endingWith(0, "RUNNING"), "GET /api/stream": follows });
  const outrigger = await commandLine(t, control.endpoint);

  const words = ["launch", "-y", "-c", "dev", "x"];
  const { code, stderr } = await outrigger(words, { columns: 80, signal: abort.signal });

  assert.equal(code, 130);
  assert.ok(!stderr.includes("✗") && !stderr.includes(red), stderr);
  assert.match(stripVTControlCharacters(stderr), /… Launching dev\n/);
  assert.match(stderr, /The launch continues. Follow it: outrigger api logs launch-1/);
});

test("the id of a job that is not followed stands alone only for programs", async (t) => {
  const control = await fakeControl(t, endingWith(0, "RUNNING"));
  const outrigger = await commandLine(t, control.endpoint);

  const piped = await outrigger(["exec", "dev", "-d", "x"]);
  const shown = await outrigger(["exec", "dev", "-d", "x"], { columns: 80 });

  assert.deepEqual([piped.stdout, shown.stdout], ["7\n", ""]);
  assert.match(shown.stderr, /outrigger logs dev 7/);
});

test("that there is no such job is said once, on stderr", async (t) => {
  const control = await fakeControl(t, {
    ...endingWith(102, ""),
    "POST /logs": (_seen, res) =>
      void res
        .writeHead(200, { "x-skypilot-request-id": "log-1" })
        .end("cluster dev has no job 99\n"),
  });
  const outrigger = await commandLine(t, control.endpoint);

  for (const line of ["logs dev 99", "logs dev 99 --no-follow"]) {
    const { code, stdout, stderr } = await outrigger(wordsOf(line));

    assert.deepEqual([code, stdout, stderr], [102, "", "error: cluster dev has no job 99\n"], line);
  }
});

test("`outrigger logs` of a cluster that is stopped asks for the copy that control has", async (t) => {
  const error = { type: "ClusterNotUpError", message: "cluster dev is STOPPED, not UP" };
  const control = await fakeControl(t, {
    ...usual,
    "POST /job_status": { error },
    "POST /logs": (_seen, res) =>
      void res.writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" }).end("a\n"),
    "GET /api/get": ({ query }, res) =>
      query.get("request_id") === "log-1"
        ? sendJson(res, 200, { return_value: "0" })
        : sendJson(res, 500, { detail: { error: JSON.stringify(error) } }),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(["logs", "dev"]);

  assert.deepEqual([code, stdout], [0, "a\n"], stderr);
  assert.equal(control.to("POST /logs")[0]?.body["job_id"], null);
});
