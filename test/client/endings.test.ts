import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { type Ending, fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";
import { two, usual } from "./usual-routes.ts";

const oneRequest: Routes = {
  "GET /api/status": (_seen, res) =>
    sendJson(res, 200, [{ request_id: "1234", name: "launch", status: "RUNNING", created_at: 1 }]),
};

const oneJob: Ending = { result: [{ job_id: 7 }] };

const endings: readonly [string, Routes, number, RegExp][] = [
  [
    "status other",
    { "POST /status": two },
    3,
    /there is no cluster other; list them with: outrigger status/,
  ],
  ["stop dve", { "POST /status": two }, 3, /there is no cluster dve; did you mean `dev`\?$/m],
  ["cancel dve", { "POST /status": two }, 3, /there is no cluster dve; did you mean `dev`\?$/m],
  ["cancel dve 7", { "POST /status": two }, 3, /there is no cluster dve/],
  [
    "down other",
    { "POST /status": two },
    3,
    /there is no cluster other; list them with: outrigger status/,
  ],
  [
    "down -y other --ignore-not-found",
    { "POST /status": { result: [] } },
    0,
    /^No cluster to tear down\.$/m,
  ],
  [
    "stop -y 'x*' --ignore-not-found",
    { "POST /status": { result: [] } },
    0,
    /^No cluster to stop\.$/m,
  ],
  ["down -y 'x*'", { "POST /status": { result: [] } }, 3, /^error: no cluster matches x\*$/m],
  ["status 'd*'", { "POST /status": { result: [] } }, 0, /No cluster matches d\*\./],
  ["stop -a -y", { "POST /status": { result: [] } }, 0, /^No cluster to stop\.$/m],
  ["api status 12", oneRequest, 0, /^$/],
  ["api status 12 nosuch", oneRequest, 3, /no request id begins with nosuch/],
  ["status --endpoints dev", { "POST /endpoints": { result: {} } }, 3, /dev exposes no port$/m],
  ["status --endpoint 80 dev", { "POST /endpoints": { result: {} } }, 3, /no port 80$/m],
  ["api cancel nosuch", oneRequest, 3, /no request id begins with nosuch/],
  ["down", { "POST /status": two }, 2, /--all/],
  ["down --all", { "POST /status": two }, 2, /pass -y/],
  ["stop 'de*'", { "POST /status": two }, 2, /pass -y/],
  ["cancel dev", { "POST /status": two, "POST /queue": oneJob }, 2, /dev: job 7\? .* pass -y/],
  ["cancel 'd*' -y", {}, 2, /d\* is a pattern; name a single cluster$/m],
  ["cancel dev 1 -a", {}, 2, /not both/],
  ["start dev --down", {}, 2, /-i/],
  ["exec dev", {}, 2, /what to run/],
  ["logs dev x", {}, 2, /x is not a job id/],
  ["launch -y", {}, 2, /name what to launch: a task .* or -c NAME/],
  ["launch -y --gpus H100", {}, 2, /name what to launch/],
  ["launch none.yaml", {}, 3, /no file none\.yaml/],
  ["launch --wrong", {}, 2, /unknown option/],
  ["launch --detach-rum x", {}, 2, /unknown option.*\s.*Did you mean --detach-run\?/],
  ["nonsense", {}, 2, /unknown command/],
  ["luanch", {}, 2, /unknown command.*\s.*Did you mean launch\?/],
  ["api strat", {}, 2, /unknown command.*\s.*Did you mean .*start/],
  ["launch -i -5", {}, 2, /--idle-minutes-to-autostop: "-5" is not a whole number of at least 0/],
  ["launch --num-nodes 0 x", {}, 2, /--num-nodes: "0" is not/],
  ["logs dev --tail x", {}, 2, /--tail: "x" is not/],
  ["api start --port x", {}, 2, /--port: "x" is not/],
  ["cost-report --days 1.5", {}, 2, /--days: "1\.5" is not/],
  ["status -o xml", {}, 2, /Allowed choices are table, json/],
  [
    "queue dev",
    { "POST /queue": { error: { type: "ClusterNotUpError", message: "off" } } },
    5,
    /^error: off\n$/,
  ],
  [
    "exec dev x",
    { "POST /exec": { error: { type: "ResourcesUnavailableError", message: "full" } } },
    7,
    /full/,
  ],
  ["exec dev x", { "POST /exec": { cancelled: true } }, 5, /cancelled/],
  ["logs dev --status", { "POST /job_status": { result: { 1: "RUNNING" } } }, 101, /^$/],
  ["logs dev --status", { "POST /job_status": { result: { 1: "FAILED_SETUP" } } }, 100, /^$/],
];

for (const [line, routes, expected, message] of endings)
  test(`\`outrigger ${line}\` ends with ${expected}: ${message.source}`, async (t) => {
    const control = await fakeControl(t, routes);
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.match(stderr, message);
    assert.equal(code, expected);
  });

test("with --all and -y every cluster is stopped, and one failure does not spare the others", async (t) => {
  const stopOne: Handler = ({ body }, res) => {
    if (body["cluster_name"] === "dev") return sendJson(res, 409, { detail: "busy" });
    res.setHeader("x-skypilot-request-id", "r").end("null");
  };
  const routes: Routes = {
    ...{ "POST /status": two, "POST /stop": stopOne },
    "GET /api/stream": (_seen, res) => void res.end(""),
  };
  const list = await fakeControl(t, { ...routes, "GET /api/get": resultsOf(two) });
  const outrigger = await commandLine(t, list.endpoint);

  const { code, stderr } = await outrigger(["stop", "-a", "-y"]);

  assert.deepEqual(
    list.to("POST /stop").map(({ body }) => body["cluster_name"]),
    ["dev", "dev-2"],
  );
  assert.match(stderr, /dev: busy/);
  assert.equal(code, 5);
});

/** The clusters for whoever asks for a list, nothing for the rest. */
function resultsOf({ result }: Ending): Handler {
  return ({ query }, res) =>
    sendJson(res, 200, {
      return_value: query.get("request_id") === "r" ? "null" : JSON.stringify(result),
    });
}

test("Ctrl-C in a followed log leaves the job alone and says how to come back", async (t) => {
  const abort = new AbortController();
  const follows: Handler = (_seen, res) => {
    res.writeHead(200, { "x-skypilot-request-id": "r" });
    res.write("step 1\n", () => abort.abort());
  };
  const control = await fakeControl(t, { "POST /logs": follows });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["logs", "dev", "7"], { signal: abort.signal });

  assert.equal(code, 130);
  assert.match(stderr, /The job keeps running\. Follow it again: outrigger logs dev 7/);
  assert.deepEqual(
    control.seen.map(({ path }) => path),
    ["/logs"],
  );
});

test("a terminal gets colours and ticks, unless NO_COLOR says no; nothing is wider than it", async (t) => {
  const control = await fakeControl(t, { ...usual, "POST /status": two });
  const outrigger = await commandLine(t, control.endpoint);

  const narrow = await outrigger(["status"], { columns: 40 });
  const plain = await outrigger(["status"], { columns: 40, env: { NO_COLOR: "1" } });
  const stopped = await outrigger(["stop", "-y", "dev"], { columns: 40, env: { NO_COLOR: "1" } });

  assert.ok(narrow.stdout.includes("\u001b[32mUP"));
  assert.ok(!plain.stdout.includes("\u001b["));
  for (const line of plain.stdout.split("\n")) assert.ok(line.length <= 40, line);
  assert.match(stopped.stderr, /✓ Stopping dev\n/);
});

test("every error begins with the same red word at a terminal", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  for (const line of ["luanch", "stop --nonsense", "launch -c dev none.yaml"])
    for (const [columns, error] of [
      [80, "\u001b[31merror:\u001b[39m "],
      [undefined, "error: "],
    ] as const) {
      const { stderr } = await outrigger(wordsOf(line), columns === undefined ? {} : { columns });
      assert.ok(stderr.startsWith(error), JSON.stringify(stderr));
    }
});
