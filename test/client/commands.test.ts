import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";
import { cluster, two, usual } from "./usual-routes.ts";

const noError = JSON.stringify({ return_value: "0" });

type Fields = Readonly<Record<string, unknown>>;

/** A command line, the route it must call, and fields that the call must carry. */
const calls: readonly [string, string, Fields][] = [
  ["launch -c dev -d 'echo hi'", "POST /launch", { cluster_name: "dev", no_setup: false }],
  ["launch -c dev -d --no-setup x", "POST /launch", { no_setup: true }],
  ["launch -c dev -d -i 5 --down x", "POST /launch", { idle_minutes_to_autostop: 5, down: true }],
  [
    "launch -c dev -d -r --dryrun --fast x",
    "POST /launch",
    { retry_until_up: true, dryrun: true, fast: true },
  ],
  ["launch -c dev -d --cancel-stop x", "POST /launch", { cancel_stop: true }],
  ["exec dev -d x", "POST /exec", { cluster_name: "dev", cancel_stop: false }],
  ["exec dev -d --cancel-stop x", "POST /exec", { cancel_stop: true }],
  ["exec -d -c dev x", "POST /exec", { cluster_name: "dev" }],
  ["status", "POST /status", { cluster_names: null, refresh: "NONE", all_users: false }],
  ["status -u", "POST /status", { all_users: true }],
  ["status -a", "POST /status", { all_users: true }],
  ["status dev -r", "POST /status", { cluster_names: ["dev"], refresh: "FORCE" }],
  ["status -v", "POST /status", { summary_response: false }],
  ["queue dev -s -u", "POST /queue", { cluster_name: "dev", skip_finished: true, all_users: true }],
  ["logs dev 3", "POST /logs", { job_id: 3, follow: true, tail: 0 }],
  ["logs dev 3 -f", "POST /logs", { job_id: 3, follow: true, tail: 0 }],
  ["logs dev --no-follow", "POST /logs", { job_id: null, follow: false, tail: 0 }],
  ["logs dev 3 --no-follow --tail 9", "POST /logs", { job_id: 3, follow: false, tail: 9 }],
  ["logs dev --status", "POST /job_status", { job_ids: null }],
  ["logs dev --autostop", "POST /hook_logs", { cluster_name: "dev", autostop: true, follow: true }],
  ["logs --hook dev", "POST /hook_logs", { cluster_name: "dev", event: null, follow: true }],
  ["logs --hook stop dev", "POST /hook_logs", { cluster_name: "dev", event: "stop", tail: 0 }],
  ["logs --hook=stop dev --tail 3", "POST /hook_logs", { event: "stop", tail: 3 }],
  ["logs dev --hook down", "POST /hook_logs", { cluster_name: "dev", event: "down" }],
  ["logs --hook dev down", "POST /hook_logs", { cluster_name: "dev", event: "down" }],
  ["logs dev --hook --no-follow", "POST /hook_logs", { event: null, follow: false }],
  ["logs --hook stop", "POST /hook_logs", { cluster_name: "stop", event: null }],
  ["logs --hook stop down", "POST /hook_logs", { cluster_name: "down", event: "stop" }],
  ["logs --hook stop stop", "POST /hook_logs", { cluster_name: "stop", event: "stop" }],
  ["logs dev --provision", "POST /provision_logs", { cluster_name: "dev", worker: null }],
  ["cancel dev 1 2", "POST /cancel", { job_ids: [1, 2], all: false, all_users: false }],
  ["cancel dev -a -y", "POST /cancel", { job_ids: null, all: true }],
  ["cancel dev -y", "POST /cancel", { job_ids: null, all: false }],
  ["stop dev", "POST /stop", { cluster_name: "dev", purge: false }],
  ["down -y -p dev", "POST /down", { cluster_name: "dev", purge: true, skip_hooks: false }],
  ["down -y --skip-hooks dev", "POST /down", { purge: false, skip_hooks: true }],
  ["stop --skip-hooks dev", "POST /stop", { skip_hooks: true }],
  [
    "start dev -f -i 9 --down --wait-for jobs",
    "POST /start",
    { force: true, idle_minutes_to_autostop: 9, down: true, wait_for: "jobs" },
  ],
  ["autostop dev", "POST /autostop", { idle_minutes: 5, down: false, wait_for: null }],
  ["autostop dev -i 0 --down", "POST /autostop", { idle_minutes: 0, down: true }],
  ["autostop dev --cancel", "POST /autostop", { idle_minutes: -1 }],
  ["cost-report", "POST /cost_report", { days: 30 }],
  ["cost-report -a", "POST /cost_report", { days: null }],
  [
    "events dev -n 3",
    "POST /cluster_events",
    { cluster_name: "dev", event_type: "NOTEWORTHY", include_timestamps: true, limit: 3 },
  ],
  ["check -v local", "POST /check", { clouds: ["local"], verbose: true }],
  ["api cancel 1234", "POST /api/cancel", { request_ids: ["1234"], user_id: null }],
];

for (const [line, route, fields] of calls)
  test(`\`outrigger ${line}\` calls ${route}`, async (t) => {
    const control = await fakeControl(t, {
      ...usual,
      ...(route === "POST /logs" && { "GET /api/get": (_seen, res) => void res.end(noError) }),
    });
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, 0, stderr);
    const [sent] = control.to(route);
    assert.partialDeepStrictEqual(sent?.body, fields);
    assert.equal(sent?.body["entrypoint_command"], `outrigger ${line}`);
  });

test("launch sends the task with what the options say, and a name when none is given", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  await outrigger([
    "launch",
    "-d",
    "--env",
    "A=1",
    "--gpus",
    "H100:8",
    "--num-nodes",
    "2",
    "nvidia-smi",
  ]);

  const [sent] = control.to("POST /launch");
  assert.match(String(sent?.body["cluster_name"]), /^outrigger-[0-9a-f]{4}-ana$/);
  assert.deepEqual(parse(String(sent?.body["task"])), {
    run: "nvidia-smi",
    num_nodes: 2,
    resources: { accelerators: "H100:8" },
    envs: { A: "1" },
  });
});

test("launch with a name and without a task only provisions, and says so", async (t) => {
  const bare = { result: { job_id: null, handle: null } };
  const control = await fakeControl(t, { ...usual, "POST /launch": bare });
  const outrigger = await commandLine(t, control.endpoint);
  await writeFile(join(outrigger.folder, "empty.yaml"), "# nothing yet\n");

  const { code, stdout, stderr } = await outrigger(["launch", "-y", "-c", "dev"]);
  const unnamed = await outrigger(["launch", "-y"]);
  const empty = await outrigger(["launch", "-y", "-c", "dev", "empty.yaml"]);

  assert.deepEqual([code, stdout], [0, ""]);
  assert.match(stderr, /^No task given: cluster dev will run no job\.$/m);
  assert.equal(unnamed.code, 2);
  assert.deepEqual([empty.code, empty.stdout], [2, ""]);
  assert.equal(control.to("POST /launch").length, 1);
});

test("launch shows the job's log on stdout alone and exits as the job did", async (t) => {
  const getAnswers: Handler = ({ query }, res) => {
    const value = query.get("request_id") === "log-1" ? "100" : '{"job_id":4,"handle":null}';
    sendJson(res, 200, { return_value: value });
  };
  const stream: Handler = (_seen, res) => void res.end("1 node up\n");
  const queue: Handler = (_seen, res) => sendJson(res, 404, { detail: "gone" });
  const more = {
    ...{ "GET /api/get": getAnswers, "GET /api/stream": stream },
    "POST /queue": queue,
  };
  const control = await fakeControl(t, { ...usual, ...more });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(["launch", "-c", "dev", "false"]);

  assert.equal(code, 100);
  assert.equal(stdout, "hello\n");
  assert.match(
    stderr,
    /^Launching dev\n1 node up\nJob 4 FAILED on dev\n {2}logs +outrigger logs dev 4\n/,
  );
});

test("--async prints the id of the request and waits for nothing", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout } = await outrigger(["launch", "-c", "dev", "--async", "x"]);

  assert.equal(code, 0);
  assert.match(stdout, /^[0-9a-f-]{36}\n$/);
  assert.deepEqual(
    control.seen.map(({ path }) => path),
    ["/launch"],
  );
});

test("status says what a cluster that is INIT waits for", async (t) => {
  const why = "node 0 pending: Slurm job 7: Resources, position 2 in partition low";
  const dev = { ...cluster("dev", "INIT"), init_kind: "launching", init_status_reason: why };
  const result = [dev, { ...cluster("up"), init_kind: null, init_status_reason: null }];
  const control = await fakeControl(t, { "POST /status": { result } });
  const outrigger = await commandLine(t, control.endpoint);

  assert.equal((await outrigger(["status"])).stderr, `dev is INIT: ${why}\n`);
  assert.equal((await outrigger(["status", "-o", "json"])).stderr, "");
});

test("status prints a table, or JSON, and hints when there is nothing", async (t) => {
  const control = await fakeControl(t, { "POST /status": two });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["status"]);
  const json = await outrigger(["status", "-o", "json"]);

  assert.deepEqual(
    stdout.split("\n").map((line) => line.split(/ {2,}/)[1]),
    ["STATUS", "UP", "STOPPED", undefined],
  );
  assert.match(stdout, /30m \(down\)/);
  assert.partialDeepStrictEqual(JSON.parse(json.stdout), [
    { name: "dev", status: "UP", launched_at: "2023-11-14T22:13:20.000Z" },
    { name: "dev-2", status: "STOPPED", autostop: { idle_minutes: 30, action: "down" } },
  ]);

  const empty = await fakeControl(t, { "POST /status": { result: [] } });
  const nothing = await (await commandLine(t, empty.endpoint))(["status"]);
  assert.deepEqual([nothing.stdout, nothing.code], ["", 0]);
  assert.match(nothing.stderr, /No clusters\. Launch one/);
});
