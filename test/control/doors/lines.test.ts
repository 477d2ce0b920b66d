import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { test } from "node:test";
import { linesOf } from "../../../control/doors/lines.ts";

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
