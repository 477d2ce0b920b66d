import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText } from "../../contract/sizes.ts";

const sizes: readonly [bytes: number, text: string][] = [
  [0, "0 bytes"],
  [999, "999 bytes"],
  [1_000, "1.0 KB"],
  [1_234_567, "1.2 MB"],
  [5e9, "5.0 GB"],
  [7e15, "7000.0 TB"],
];

for (const [bytes, text] of sizes)
  test(`${bytes} bytes are told as ${text}`, () => assert.equal(bytesText(bytes), text));
