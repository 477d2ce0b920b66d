import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { readableLine } from "../../common/readable-line.ts";

const line = (fields: object) =>
  `${JSON.stringify({ level: 30, time: "2026-01-02T03:04:05.678Z", program: "sidecar", ...fields })}\n`;

test("a line shows time, program, level, message and fields", () => {
  const fields = { port: 8080, path: "/a b", to: { host: "h" }, by: null, msg: "listening" };

  assert.equal(
    readableLine(line(fields)),
    '03:04:05Z sidecar info  listening port=8080 path="/a b" to={"host":"h"} by=null\n',
  );
});

test("the stack of an error stands below its line", () => {
  const error = { message: "no disk", stack: "Error: no disk\n    at a.ts:1\n    at b.ts:2" };

  assert.equal(
    readableLine(line({ level: 50, error, msg: "failed" })),
    '03:04:05Z sidecar error failed error="no disk"\n      at a.ts:1\n      at b.ts:2\n',
  );
});

test("nothing in a line controls the terminal, and what is no line of a log stays as it is", () => {
  const evil = "\u001b[2J\u009b2J\n\u202e";
  const shown = readableLine(line({ path: evil, error: { stack: `x\n${evil}` }, msg: evil }));

  assert.doesNotMatch(shown.replaceAll("\n", ""), /\p{Cc}|\p{Cf}/u);
  for (const other of ["plain text\n", "[1]\n", '{"a":1}\n'])
    assert.equal(readableLine(other), other);
});

test("a log is JSON in a pipe, and readable on a terminal", async () => {
  const url = JSON.stringify(join(import.meta.dirname, "../../common/log.ts"));
  const code = `import { openLog } from ${url}; openLog("control", "info").info({ port: 1 }, "listening");`;
  const words = [process.execPath, "--input-type=module", "-e", code];
  const command = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const run = promisify(execFile);

  const piped = await run(process.execPath, words.slice(1));
  // Source: script(1) gives the command a pseudo-terminal.
  const live = await run("script", ["-qec", command, "/dev/null"]);

  assert.equal(JSON.parse(piped.stderr).msg, "listening");
  assert.match(live.stdout, /^\d\d:\d\d:\d\dZ control info {2}listening port=1\r\n$/);
});
