import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openDecoder, type Piece } from "../../client/stream.ts";
import { controlLine } from "./fake-control.ts";

const textOf = (pieces: readonly Piece[]) =>
  Buffer.concat(pieces.flatMap((piece) => (piece.kind === "text" ? [piece.bytes] : []))).toString();
const codesOf = (pieces: readonly Piece[]) =>
  pieces.flatMap((piece) => (piece.kind === "control" ? [`${piece.code}:${piece.message}`] : []));

function decode(chunks: readonly Uint8Array[]): Piece[] {
  const decoder = openDecoder();
  return [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.end()];
}

test("control lines are taken out and the text stays byte for byte", () => {
  const sent = `one\n${controlLine("rich_init", "Launching <b>")}\rtwo\r\n${controlLine("heartbeat")}three`;

  const pieces = decode([Buffer.from(sent)]);

  assert.equal(textOf(pieces), "one\n\rtwo\r\nthree");
  assert.deepEqual(codesOf(pieces), ["rich_init:Launching <b>", "heartbeat:"]);
});

test("how a stream was cut into chunks makes no difference", () => {
  const line = fc.oneof(
    fc.string().map((text) => `${text.replaceAll("\n", "")}\n`),
    fc.constant(controlLine("rich_update", "née 90 %")),
    fc.constantFrom("<sky-pay\n", "<sky-payload>broken</sky-payload>\n", "<", "\n<sky", "é\n"),
  );
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(30)), (lines, cuts) => {
      const whole = Buffer.from(lines.join(""));
      const chunks: Buffer[] = [];
      let at = 0;
      for (const cut of cuts) {
        chunks.push(whole.subarray(at, at + cut));
        at += cut;
      }
      chunks.push(whole.subarray(at));

      const pieces = decode(chunks);
      const expected = decode([whole]);

      assert.equal(textOf(pieces), textOf(expected));
      assert.deepEqual(codesOf(pieces), codesOf(expected));
    }),
  );
});

test("an unfinished line is shown at once unless it may become a control line", () => {
  const decoder = openDecoder();

  assert.equal(textOf(decoder.push(Buffer.from("50 %"))), "50 %");
  assert.equal(textOf(decoder.push(Buffer.from("\r100 %\n<sk"))), "\r100 %\n");
  assert.equal(textOf(decoder.push(Buffer.from("etch>"))), "<sketch>");
});

test("a tag in the middle of a line is the user's", () => {
  const sent = `see ${controlLine("retry")}`;

  assert.equal(textOf(decode([Buffer.from(sent)])), sent);
});

test("a broken control line is shown rather than swallowed", () => {
  const sent = "<sky-payload>no json</sky-payload>\n";

  assert.equal(textOf(decode([Buffer.from(sent)])), sent);
});
