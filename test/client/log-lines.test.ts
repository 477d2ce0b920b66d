import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import * as z from "zod";
import { commandLine, wordsOf } from "./command-line.ts";
import { controlLine, fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";
import { aReplica, aService } from "./services.ts";

const file = join(import.meta.dirname, "../../docs/schemas/log-line.json");
const schema = z.fromJSONSchema(JSON.parse(readFileSync(file, "utf8")));

/** A log that comes in pieces, with colours, and without an end of its last line. */
const log: Handler = (_seen, res) => {
  res.writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" });
  res.write("loss 0.5\nlo");
  res.end("ss \u001b[31m0.25\u001b[0m\nsaved");
};
const ofReplica: Handler = ({ body }, res) => {
  res.writeHead(200, { "x-skypilot-request-id": "log-1" });
  res.end(`GET /${body["replica_id"]}\nready\n`);
};
const services = [
  aService({ replica_info: [aReplica(1), aReplica(2), aReplica(3, { status: "PENDING" })] }),
];
const get: Handler = ({ query }, res) => {
  const value = query.get("request_id") === "status" ? services : 0;
  sendJson(res, 200, { return_value: JSON.stringify(value) });
};
const status: Handler = (_seen, res) =>
  void res.setHeader("x-skypilot-request-id", "status").end("null");

const routes: Routes = {
  "POST /logs": log,
  "GET /api/stream": log,
  "POST /serve/logs": ofReplica,
  "POST /serve/status": status,
  "GET /api/get": get,
};

async function outputOf(t: TestContext, line: string): Promise<string> {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);
  const { code, stdout, stderr } = await outrigger(wordsOf(line));
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Logs, and of what their lines are. */
const logs: readonly [string, object, readonly string[]][] = [
  ["logs dev 3", { cluster: "dev", job_id: 3 }, ["loss 0.5", "loss 0.25", "saved"]],
  ["logs dev 3 --grep ^loss", { cluster: "dev", job_id: 3 }, ["loss 0.5", "loss 0.25"]],
  ["api logs 1234", { request_id: "1234", cluster: null }, ["loss 0.5", "loss 0.25", "saved"]],
  ["serve logs chat 2", { service: "chat", replica: 2 }, ["GET /2", "ready"]],
];

for (const [line, of, wanted] of logs)
  test(`\`outrigger ${line} -o json\` prints an object a line`, async (t) => {
    const printed = await outputOf(t, `${line} -o json`);

    const lines = printed
      .trimEnd()
      .split("\n")
      .map((text) => schema.parse(JSON.parse(text)));
    assert.partialDeepStrictEqual(
      lines,
      wanted.map((text) => ({ ...of, line: text })),
    );
    assert.equal(lines.length, wanted.length);
  });

test("--grep leaves the lines in which it is found as they are", async (t) => {
  assert.equal(await outputOf(t, "logs dev 3 --grep 0.25$"), "loss \u001b[31m0.25\u001b[0m\n");
  assert.equal(await outputOf(t, "logs dev 3 --grep save"), "saved\n");
  assert.equal(await outputOf(t, "logs dev 3 --grep nothing"), "");
});

const noon = "2026-01-31T12:00:00.000Z";
/** A log with instants, as it is sent to those who ask for them. */
const timed: Handler = ({ body }, res) => {
  const said = (at: string) => (body["timestamps"] === true ? controlLine("instant", at) : "");
  res.writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" });
  res.end(`${said(noon)}loss 0.5\nloss 0.25\n${said("")}saved\n`);
};
const timedRoutes = { ...routes, "POST /logs": timed, "POST /serve/logs": timed };

test("--timestamps puts before each line when it began, and JSON always has it", async (t) => {
  const control = await fakeControl(t, timedRoutes);
  const outrigger = await commandLine(t, control.endpoint);
  const linesOf = async (line: string) =>
    (await outrigger(wordsOf(line))).stdout.trimEnd().split("\n");

  assert.deepEqual(await linesOf("logs dev 3 --timestamps --grep 25|saved"), [
    `${noon} loss 0.25`,
    "- saved",
  ]);
  assert.deepEqual(await linesOf("logs dev 3"), ["loss 0.5", "loss 0.25", "saved"]);
  assert.deepEqual(
    (await linesOf("logs dev 3 -o json")).map((line) => Object(schema.parse(JSON.parse(line))).at),
    [noon, noon, null],
  );
  assert.equal(
    (await linesOf("serve logs chat 1 --no-follow --timestamps"))[0],
    `${noon} loss 0.5`,
  );
  assert.ok(
    (await linesOf("serve logs chat --no-follow --timestamps")).includes(
      `replica 2 | ${noon} loss 0.25`,
    ),
  );
});

test("--since is an instant, or so long ago", async (t) => {
  const control = await fakeControl(t, timedRoutes);
  const outrigger = await commandLine(t, control.endpoint);
  const sinceOf = async (line: string, route = "POST /logs") => {
    const { code, stderr } = await outrigger(wordsOf(line));
    assert.equal(code, 0, stderr);
    return Number(control.to(route).at(-1)?.body["since"]);
  };

  assert.equal(await sinceOf(`logs dev 3 --since ${noon}`), Date.parse(noon) / 1_000);
  const before = Date.now() / 1_000;
  const since = await sinceOf("logs dev 3 --since 10m");
  assert.ok(since >= before - 601 && since <= Date.now() / 1_000 - 599, String(before - since));
  const ofService = await sinceOf(`serve logs chat 1 --since ${noon}`, "POST /serve/logs");
  assert.equal(ofService, Date.parse(noon) / 1_000);
});

for (const [line, why] of [
  ["logs dev 3 --since yesterday", /--since: "yesterday" is no time/],
  ["logs dev --hook --since 10m", /--since cannot be used with --hook/],
  ["logs dev --provision --timestamps", /--timestamps cannot be used with --provision/],
  ["serve logs chat --controller --timestamps", /are for the logs of replicas/],
] as const)
  test(`\`outrigger ${line}\` is refused`, async (t) => {
    const outrigger = await commandLine(t, "http://127.0.0.1:1");
    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, 2);
    assert.match(stderr, why);
  });

test("a pattern that is none is refused before anything is asked", async (t) => {
  const outrigger = await commandLine(t, "http://127.0.0.1:1");
  const { code, stderr } = await outrigger(["logs", "dev", "--grep", "("]);

  assert.equal(code, 2);
  assert.match(stderr, /--grep: Invalid regular expression/);
});

test("a job that there is not is an error in JSON, too", async (t) => {
  const refusal: Handler = (_seen, res) =>
    void res
      .writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" })
      .end("cluster dev has no job 9\n");
  const missing: Handler = (_seen, res) => sendJson(res, 200, { return_value: "102" });
  const control = await fakeControl(t, { "POST /logs": refusal, "GET /api/get": missing });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(wordsOf("logs dev 9 --no-follow -o json"));

  const { error } = JSON.parse(stderr);
  assert.deepEqual([code, stdout], [102, ""]);
  assert.deepEqual([error.code, error.exit_code], ["JobNotFoundError", 102]);
});

test("logs of a service are those of all its replicas, each line with its replica", async (t) => {
  const text = await outputOf(t, "serve logs chat --no-follow");
  const json = await outputOf(t, "serve logs chat --no-follow -o json");

  assert.deepEqual(text.trimEnd().split("\n").toSorted(), [
    "replica 1 | GET /1",
    "replica 1 | ready",
    "replica 2 | GET /2",
    "replica 2 | ready",
  ]);
  const lines = json
    .trimEnd()
    .split("\n")
    .map((line) => schema.parse(JSON.parse(line)));
  assert.equal(lines.length, 4);
  assert.partialDeepStrictEqual(lines[0], { service: "chat", cluster: null });
});

test("replicas that are added are followed, until the service is gone", async (t) => {
  let looks = 0;
  const looksAt = [[aReplica(1)], [aReplica(1), aReplica(2)], undefined];
  const found: Handler = ({ query }, res) => {
    if (query.get("request_id") !== "status") return sendJson(res, 200, { return_value: "0" });
    const replica_info = looksAt[Math.min(looks, looksAt.length - 1)];
    looks += 1;
    const value = replica_info === undefined ? [] : [aService({ replica_info })];
    return sendJson(res, 200, { return_value: JSON.stringify(value) });
  };
  const events: Handler = (_seen, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" }).write("id: 1\n\n");
    const ring = setInterval(() => res.write(`id: ${looks + 1}\ndata: {}\n\n`), 20);
    res.once("close", () => clearInterval(ring));
  };
  const control = await fakeControl(t, { ...routes, "GET /api/get": found, "GET /events": events });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout } = await outrigger(wordsOf("serve logs chat"));

  assert.equal(code, 0);
  assert.match(stdout, /^replica 1 \| GET \/1$/m);
  assert.match(stdout, /^replica 2 \| GET \/2$/m);
  assert.equal(control.to("POST /serve/logs").length, 2);
});
