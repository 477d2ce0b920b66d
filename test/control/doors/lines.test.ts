import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
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
