import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { test } from "node:test";
import { hearLines, linesOf } from "../../../control/doors/lines.ts";

test("lines come whole, however they were cut", async () => {
  const body = new PassThrough();
  for (const chunk of ["on", "e\nt", "wo\n", "\n", "ä".repeat(3)]) body.write(chunk);
  body.write(Buffer.from([0xc3]));
  body.end(Buffer.concat([Buffer.from([0xa4]), Buffer.from("\nrest")]));

  const lines: string[] = [];
  for await (const line of linesOf(body)) lines.push(line);

  assert.deepEqual(lines, ["one", "two", "", "ääää"]);
});

test("a line without an end is given up at its limit", async () => {
  const body = Readable.from(Array.from({ length: 20 }, () => "a".repeat(2 ** 17)));

  await assert.rejects(async () => {
    for await (const line of linesOf(body)) assert.fail(line);
  }, /more than 1048576 characters/);
});

test("lines of a stream that stays open are heard until it ends, breaks off, is aborted or silent", async () => {
  const heard: string[] = [];
  const hear = (body: Readable, signal = new AbortController().signal, silentMs = 60_000) =>
    hearLines(body, { silentMs, signal }, (line) => {
      heard.push(line);
      if (line === "bad") throw new Error("not JSON");
    });

  await hear(Readable.from(["on", "e\n\nrest"]));
  assert.deepEqual(heard, ["one", ""]);
  await assert.rejects(hear(Readable.from(["bad\n"])), /not JSON/);
  const broken = new PassThrough();
  setImmediate(() => broken.destroy(new Error("reset")));
  await assert.rejects(hear(broken), /reset/);
  const silent = new PassThrough();
  await assert.rejects(hear(silent, undefined, 10), { type: "UnreachableError" });
  assert.ok(silent.destroyed);
  const aborted = new PassThrough();
  await assert.rejects(hear(aborted, AbortSignal.abort(new Error("no more"))), /no more/);
  assert.ok(aborted.destroyed);
});
