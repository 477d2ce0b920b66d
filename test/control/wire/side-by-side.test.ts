import assert from "node:assert/strict";
import { test } from "node:test";
import { sideBySide } from "../../../control/wire/side-by-side.ts";

async function* saying(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

/** A log without an end, and whether it was closed. */
function endless() {
  let isClosed = false;
  async function* lines() {
    try {
      for (;;) yield Buffer.from("line\n");
    } finally {
      isClosed = true;
    }
  }
  return { chunks: lines(), isClosed: () => isClosed };
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk.toString();
  return text;
}

test("lines that come in pieces stay whole, each behind its prefix", async () => {
  const logs = [
    { prefix: "(a) ", chunks: saying("one\ntw", "o\nthree") },
    { prefix: "(b) ", chunks: saying("1\n2\n") },
  ];

  const lines = (await textOf(sideBySide(logs))).split("\n").toSorted();

  assert.deepEqual(lines, ["", "(a) one", "(a) three", "(a) two", "(b) 1", "(b) 2"]);
});

test("a line without an end is handed over before it fills the memory", async () => {
  const logs = [{ prefix: "", chunks: saying("x".repeat(70_000), "y") }];

  const [first = ""] = (await textOf(sideBySide(logs))).split("\n");

  assert.equal(first.length, 70_000);
});

test("a log that fails ends them all, and each is closed", async () => {
  const { chunks, isClosed } = endless();
  async function* failing(): AsyncGenerator<Buffer> {
    yield Buffer.from("last\n");
    throw new Error("gone");
  }
  const logs = [
    { prefix: "", chunks },
    { prefix: "", chunks: failing() },
  ];

  await assert.rejects(textOf(sideBySide(logs)), { message: "gone" });

  assert.equal(isClosed(), true);
});

test("every log is closed when its reader stops early", async () => {
  const { chunks, isClosed } = endless();

  for await (const _ of sideBySide([{ prefix: "", chunks }])) break;
  await new Promise(setImmediate);

  assert.equal(isClosed(), true);
});
