import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { commands } from "../../client/catalog.ts";
import { errorTypes } from "../../common/errors.ts";
import { type CommandLine, commandLine, type Outcome, wordsOf } from "./command-line.ts";
import {
  type FakeControl,
  fakeControl,
  type Handler,
  type Routes,
  sendJson,
} from "./fake-control.ts";

/** What people know from gh, kubectl, flyctl and uv, each shown by what the command line does. */

const docs = (name: string) => readFileSync(join(import.meta.dirname, "../../docs", name), "utf8");
const schema = (name: string) => JSON.parse(docs(`schemas/${name}.json`));

const jobs = [3, 2, 1].map((id) => ({
  ...{
    job_id: id,
    job_name: `job-${id}`,
    username: "ana",
    user_hash: "u1",
    resources: "1x[CPU:2]",
  },
  ...{ submitted_at: 1_700_000_000, start_at: null, end_at: null, status: "PENDING" },
  ...{ log_path: "", links: {}, metadata: { reason: "waits for 1 CPU: job 9 uses it" } },
}));
const log: Handler = (_seen, res) => {
  res.writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" });
  res.end("loss 0.5\nsaved\n");
};
const denied: Handler = (_seen, res) => {
  res.setHeader("x-skypilot-request-id", "r-7");
  const error = JSON.stringify({ type: "ConflictError", message: "not now" });
  sendJson(res, 500, { detail: { request_id: "r-7", status: "FAILED", error } });
};
const routes: Routes = {
  "POST /queue": { result: jobs },
  "POST /status": { result: [] },
  "POST /launch": { result: { job_id: 1, handle: null } },
  "GET /api/stream": log,
  "POST /exec": denied,
};

interface Stage {
  readonly control: FakeControl;
  readonly outrigger: CommandLine;
  /** Runs a line that must end with 0. */
  readonly run: (line: string, more?: Parameters<CommandLine>[1]) => Promise<Outcome>;
}

const errorOf = ({ stderr }: Outcome) =>
  JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "").error;
const visible = commands.filter(({ hidden }) => !hidden);
const flagsOf = (name: string) =>
  visible.find((row) => row.name === name)?.options.map(({ flags }) => flags) ?? [];
const takes = (name: string, flag: string) =>
  assert.ok(
    flagsOf(name).some((flags) => flags.split(/[ ,]+/).includes(flag)),
    `${name} ${flag}`,
  );

const conventions: Readonly<Record<string, (stage: Stage) => unknown>> = {
  "errors are JSON, and name the request": async ({ outrigger }) => {
    const outcome = await outrigger(wordsOf("exec dev true -o json"));
    const { code, request_id, exit_code } = errorOf(outcome);
    assert.deepEqual([code, request_id, exit_code], ["ConflictError", "r-7", outcome.code]);
  },
  "answers are JSON with the fields that are named": async ({ run }) => {
    const { stdout } = await run("queue dev --fields id,status");
    assert.deepEqual(JSON.parse(stdout)[0], { id: 3, status: "PENDING" });
  },
  "answers have published schemas": () => {
    assert.equal(schema("jobs").type, "array");
    assert.equal(schema("error").type, "object");
  },
  "lists can be watched": () => {
    for (const name of ["status", "queue", "serve status"]) takes(name, "--watch");
  },
  "logs are JSON lines": async ({ outrigger }) => {
    const lines = (await outrigger(wordsOf("api logs 1234 -o json"))).stdout.trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).line),
      ["loss 0.5", "saved"],
    );
  },
  "logs can be limited by time, number and pattern": () => {
    for (const flag of ["--since", "--timestamps", "--tail", "--grep", "--follow"])
      for (const name of ["logs", "serve logs"]) takes(name, flag);
  },
  "contexts name control planes": async ({ run }) => {
    await run("context add prod --endpoint https://control.example --use");
    const listed = JSON.parse((await run("context list -o json")).stdout);
    assert.deepEqual(listed.find((row: { current: boolean }) => row.current)?.name, "prod");
  },
  "a setting says where it comes from": async ({ run, control }) => {
    const shown = JSON.parse((await run("config show -o json")).stdout);
    const endpoint = shown.find((row: { name: string }) => row.name === "endpoint");
    assert.deepEqual(
      [endpoint.value, endpoint.origin],
      [control.endpoint, { kind: "environment", name: "OUTRIGGER_ENDPOINT" }],
    );
  },
  "four shells complete commands and the values of options": async ({ run }) => {
    for (const shell of ["bash", "zsh", "fish", "powershell"])
      assert.match((await run(`completion ${shell}`)).stdout, /complete/);
    const offered = (await run("complete j status --output")).stdout;
    assert.match(offered, /^json/m);
  },
  "the installation is checked": () => takes("doctor", "--output"),
  "the version is JSON, too": async ({ run }) =>
    assert.equal(typeof JSON.parse((await run("version -o json")).stdout).version, "string"),
  "mistyped and foreign commands get a suggestion": async ({ outrigger }) => {
    assert.match((await outrigger(["lanch"])).stderr, /Did you mean launch\?/);
    assert.match((await outrigger(["ps"])).stderr, /try outrigger queue/);
    assert.match((await outrigger(["status", "--wach"])).stderr, /Did you mean --watch\?/);
  },
  "what waits can be given a limit": () => {
    for (const name of ["launch", "stop", "logs", "serve up", "ssh up"]) takes(name, "--timeout");
  },
  "what is gone already can be removed again": async ({ run }) => {
    await run("down dev -y --ignore-not-found");
    for (const name of ["stop", "down", "serve down", "context remove"])
      takes(name, "--ignore-not-found");
  },
  "exit codes are documented": () => {
    const page = docs("exit-codes.md");
    for (const { exit } of Object.values(errorTypes))
      assert.match(page, new RegExp(`\\b${exit}\\b`));
  },
  "colours go where they are not wanted": async ({ run }) => {
    const painted = (await run("queue dev", { columns: 80 })).stdout;
    const plain = (await run("queue dev", { columns: 80, env: { NO_COLOR: "1" } })).stdout;
    assert.notEqual(painted, plain);
    assert.equal(stripVTControlCharacters(painted), plain);
    assert.equal(
      (await run("queue dev")).stdout,
      stripVTControlCharacters((await run("queue dev")).stdout),
    );
  },
  "progress and hints can be turned off, results and errors not": async ({ run, outrigger }) => {
    assert.match((await run("queue dev")).stderr, /waits for 1 CPU/);
    const quiet = await run("queue dev -q");
    assert.deepEqual([quiet.stderr, /PENDING/.test(quiet.stdout)], ["", true]);
    const failed = await outrigger(wordsOf("--quiet exec dev true"));
    assert.equal(failed.stderr, "error: not now\n");
  },
  "a task comes on stdin": async ({ run, control, outrigger }) => {
    await run("launch -y -c dev -d -", { piped: "run: echo piped\n" });
    assert.match(String(control.to("POST /launch")[0]?.body["task"]), /run: echo piped/);
    const empty = await outrigger(wordsOf("launch -y -c dev -"), { piped: "\n" });
    assert.match(empty.stderr, /stdin is empty/);
  },
  "questions are asked at terminals alone, and -y answers them": () => {
    for (const name of ["launch", "stop", "down", "serve down", "cancel"]) takes(name, "--yes");
  },
  "lists can be limited": async ({ run }) => {
    const { stdout } = await run("queue dev --limit 2 --fields id");
    assert.deepEqual(JSON.parse(stdout), [{ id: 3 }, { id: 2 }]);
    for (const name of ["queue", "events", "api status"]) takes(name, "--limit");
  },
  "tables fit the terminal": async ({ run }) => {
    const { stdout } = await run("queue dev", { columns: 40, env: { NO_COLOR: "1" } });
    for (const line of stdout.split("\n")) assert.ok(line.length <= 40, line);
  },
  "a control plane is started where none is": () => {
    for (const name of ["launch", "exec", "serve up"])
      assert.equal(visible.find((row) => row.name === name)?.startsControl, true, name);
  },
  "help has examples": () => {
    const without = visible.filter(({ more = "" }) => !more.includes("Examples:"));
    assert.deepEqual(
      without.map(({ name }) => name),
      ["sidecar"],
    );
  },
};

for (const [convention, shows] of Object.entries(conventions))
  test(convention, async (t) => {
    const control = await fakeControl(t, routes);
    const outrigger = await commandLine(t, control.endpoint);
    writeFileSync(join(outrigger.folder, "task.yaml"), "run: echo hi\n");
    const run: Stage["run"] = async (line, more) => {
      const outcome = await outrigger(wordsOf(line), more);
      assert.equal(outcome.code, 0, `${line}: ${outcome.stderr}`);
      return outcome;
    };
    await shows({ control, outrigger, run });
  });
