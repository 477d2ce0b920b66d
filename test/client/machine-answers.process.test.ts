import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { commands } from "../../client/catalog.ts";
import { outputs } from "../../client/output/table.ts";
import { copyNow } from "../../control/db/copies.ts";
import { dev } from "./answered-records.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";
import { lines, routes } from "./machine-lines.ts";

const root = join(import.meta.dirname, "../..");
const read = (name: string) =>
  JSON.parse(readFileSync(join(root, `docs/schemas/${name}.json`), "utf8"));

/** Forms that are printed a line at a time, which other tests are about. */
const printedAsLines = ["error", "event", "log-line", "audit-entry"];
/** Commands that are tried with a real control plane, below, or beside what they write. */
const triedElsewhere = [
  ...["api start", "api stop", "api restore", "logs --sync-down", "serve logs --sync-down"],
  ...["jobs download", "jobs map"],
];

test("each form of JSON is tried", () => {
  const hasLine = (command: string) =>
    lines.some(([line]) => command.split(" ").every((word) => wordsOf(line).includes(word)));
  const tried = (command: string) => triedElsewhere.includes(command) || hasLine(command);
  const documents = outputs.filter(({ name }) => !printedAsLines.includes(name));

  assert.deepEqual(
    documents.flatMap(({ printedBy }) => printedBy).filter((command) => !tried(command)),
    [],
  );
});

/** Commands that have no answer of their own; their errors are JSON all the same. */
const withoutAnswer = [
  ...["shell", "sidecar", "completion", "complete", "users export"],
  "api start --foreground",
] as const;

test("each command prints one of these forms, or is known to have no answer", () => {
  const known = [...withoutAnswer, ...outputs.flatMap(({ printedBy }) => printedBy)];

  assert.deepEqual(
    commands
      .filter(({ name }) => !known.some((line) => `${line} `.startsWith(`${name} `)))
      .map(({ name }) => name),
    [],
  );
});

for (const [line, name, part] of lines)
  test(`\`outrigger ${line} -o json\` prints what the schema of ${name} says`, async (t) => {
    const control = await fakeControl(t, routes);
    const outrigger = await commandLine(t, control.endpoint);
    const task = "service: {replicas: 1, readiness_probe: /}\nresources: {ports: 80}\nrun: serve\n";
    await writeFile(join(outrigger.folder, "chat.yaml"), task);
    await writeFile(
      join(outrigger.folder, "volume.yaml"),
      "{name: data, type: folder, infra: local}",
    );
    await writeFile(join(outrigger.folder, "users.csv"), "username,password,role\n");

    const { code, stdout, stderr } = await outrigger([
      ...wordsOf(line.replace("ENDPOINT", control.endpoint)),
      ...["-o", "json"],
    ]);

    if (name !== "findings") assert.equal(code, 0, stderr);
    const printed = JSON.parse(stdout);
    z.fromJSONSchema(read(name)).parse(printed);
    assert.partialDeepStrictEqual(printed, part);
  });

test("the control plane of this machine is started, stopped and restored, and says so as JSON", async (t) => {
  const outrigger = await commandLine(t, "http://127.0.0.1:1");
  const answerOf = async (line: string, name: string) => {
    const { code, stdout, stderr } = await outrigger(wordsOf(`${line} -o json`));
    assert.equal(code, 0, stderr);
    return Object(z.fromJSONSchema(read(name)).parse(JSON.parse(stdout)));
  };
  const [start, stop] = ["api start --port 0", "api stop"];
  t.after(() => outrigger(["api", "stop"]));

  const started = [await answerOf(start, "actions"), await answerOf(start, "actions")];
  const stopped = [await answerOf(stop, "actions"), await answerOf(stop, "actions")];
  const database = join(outrigger.folder, "control/state.db");
  mkdirSync(join(dirname(database), "copies"), { recursive: true });
  copyNow(database, join(dirname(database), "copies/state-2026-01-02T03-04-05Z.db"));
  const restored = await answerOf("api restore", "restoration");
  const { code, stdout, stderr } = await outrigger(wordsOf("api restore other.db -o json"));

  assert.deepEqual(
    [...started, ...stopped].map(([{ action, outcome }]) => `${action} ${outcome}`),
    ["api start done", "api start unchanged", "api stop done", "api stop unchanged"],
  );
  assert.match(started[0][0].endpoint, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(restored.copied_at, "2026-01-02T03:04:05.000Z");
  assert.ok(existsSync(restored.previous_database));
  const { error } = JSON.parse(stderr);
  assert.deepEqual([code, stdout, error.code], [3, "", "NotFoundError"]);
});

test("--fields prints these alone, and names those that there are", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  const some = await outrigger(wordsOf("status --fields name,status"));
  const one = await outrigger(wordsOf("api info --fields endpoint"));
  const odd = await outrigger(wordsOf("queue dev --fields id,nme"));
  const foreign = await outrigger(wordsOf("queue dev --fields weather"));

  assert.deepEqual(JSON.parse(some.stdout), [{ name: "dev", status: "UP" }]);
  assert.deepEqual(JSON.parse(one.stdout), { endpoint: control.endpoint });
  assert.deepEqual([odd.code, odd.stdout], [2, ""]);
  assert.match(JSON.parse(odd.stderr).error.message, /no field nme; did you mean `name`\?/);
  assert.match(
    JSON.parse(foreign.stderr).error.message,
    /no field weather; expected one of cluster, id/,
  );
});

test("of several things that are done, each is told how it went", async (t) => {
  const two = { result: [dev, { ...dev, name: "dev-2" }] };
  const refused: Handler = ({ body }, res) => {
    if (body["cluster_name"] === "dev")
      return sendJson(res, 409, { detail: "not now", type: "ConflictError" });
    res.setHeader("x-skypilot-request-id", "r-2");
    sendJson(res, 200, null);
  };
  const get: Handler = ({ query }, res) => {
    const value = query.get("request_id") === "r-2" ? null : two.result;
    sendJson(res, 200, { return_value: JSON.stringify(value) });
  };
  const done = { "GET /api/get": get, "POST /stop": refused };
  const control = await fakeControl(t, { ...routes, "POST /status": two, ...done });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(wordsOf("stop dev dev-2 -o json"));

  assert.equal(code, 5, stderr);
  const printed = JSON.parse(stdout);
  z.fromJSONSchema(read("actions")).parse(printed);
  assert.partialDeepStrictEqual(printed, [
    { name: "dev-2", outcome: "done", request_id: "r-2" },
    { name: "dev", outcome: "failed", request_id: null, error: { code: "ConflictError" } },
  ]);
  assert.equal(JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "").error.code, "ConflictError");
});
