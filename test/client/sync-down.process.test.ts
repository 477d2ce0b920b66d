import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createReadStream, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import * as z from "zod";
import { openFile } from "../../client/commands/sync-down.ts";
import { logFileOfNothing } from "../../client/output/files.ts";
import { zipOf } from "../control/uploads/zips.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";

const megabyte = 2 ** 20;
const logFilesSchema = join(import.meta.dirname, "../../docs/schemas/log-files.json");
const log = Buffer.alloc(3 * megabyte, "0123456789abcde\n");

test("logs --sync-down writes the log of each job to a file of its own", async (t) => {
  const { outrigger, folder } = await here(t);

  const { code, stdout } = await outrigger(["logs", "dev", "1", "2", "--sync-down"]);

  const files = ["job-1.log", "job-2.log"].map((name) => join(folder, name));
  assert.deepEqual([code, stdout], [0, `${files.join("\n")}\n`]);
  for (const file of files) assert.ok(readFileSync(file).equals(log));
});

test("as JSON, each log is a file with what it is of", async (t) => {
  const { outrigger, folder } = await here(t);

  const ofJob = await outrigger(["logs", "dev", "1", "--sync-down", "-o", "json"]);
  const ofService = await outrigger(["serve", "logs", "chat", "-s", "-o", "json"]);

  const none = logFileOfNothing;
  const schema = z.fromJSONSchema(JSON.parse(readFileSync(logFilesSchema, "utf8")));
  assert.deepEqual(schema.parse(JSON.parse(ofJob.stdout)), [
    { ...none, path: join(folder, "job-1.log"), cluster: "dev", job_id: 1 },
  ]);
  assert.deepEqual(schema.parse(JSON.parse(ofService.stdout)), [
    { ...none, path: join(folder, "../chat/controller.log"), service: "chat" },
  ]);
});

test("a full disk ends logs --sync-down with an error that names the file", async (t) => {
  const { outrigger, folder } = await here(t);
  mkdirSync(folder, { recursive: true });
  symlinkSync("/dev/full", join(folder, "job-1.log"));

  const { code, stdout, stderr } = await outrigger(["logs", "dev", "1", "--sync-down"]);

  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^error: cannot write .*outrigger_logs\/dev\/job-1\.log: ENOSPC/);
});

test("so does a folder that cannot be made", async (t) => {
  const { outrigger } = await here(t);
  writeFileSync(join(outrigger.folder, "outrigger_logs"), "");

  const { code, stderr } = await outrigger(["logs", "dev", "1", "--sync-down"]);

  assert.equal(code, 1);
  assert.match(stderr, /^error: cannot write .*job-1\.log: ENOTDIR/);
});

test("a write is over once the system has all of it, so that a slow disk slows the reader", async (t) => {
  const { outrigger } = await here(t);
  const file = join(outrigger.folder, "slow");
  execFileSync("mkfifo", [file]);
  const slow = createReadStream(file, { highWaterMark: 1024 }).pause();
  const out = await openFile(outrigger.folder, file);
  let isOver = false;

  const writing = out.write(log).then(() => {
    isOver = true;
  });
  await once(slow, "readable");
  assert.equal(isOver, false);

  let size = 0;
  slow.on("data", (chunk) => {
    size += chunk.length;
  });
  const ended = once(slow, "end");
  await writing;
  await out.close();
  await ended;
  assert.equal(size, log.length);
});

/** The command line at home in a folder of its own, and a control plane that has jobs. */
async function here(t: TestContext) {
  const sendLog: Handler = (_seen, res) =>
    void res.writeHead(200, { "x-skypilot-request-id": "r", "log-offset": "0" }).end(log);
  const zip = await zipOf({ "controller.log": "why\n" });
  const control = await fakeControl(t, {
    "POST /logs": sendLog,
    "GET /api/get": ({ query }, res) =>
      sendJson(res, 200, { return_value: query.get("request_id") === "s" ? '"~/logs"' : "0" }),
    "POST /serve/sync-down-logs": (_seen, res) =>
      void res.writeHead(200, { "x-skypilot-request-id": "s" }).end("null"),
    "POST /download": (_seen, res) => void res.end(zip),
  });
  const outrigger = await commandLine(t, control.endpoint);
  const { HOME = "" } = process.env;
  process.env["HOME"] = outrigger.folder;
  t.after(() => {
    process.env["HOME"] = HOME;
  });
  return { outrigger, folder: join(outrigger.folder, "outrigger_logs/dev") };
}
