import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { newChunks, readChunks } from "../../sidecar/chunked.ts";

/** How a body reads that comes in pieces of so many bytes: where it ends, and in which state. */
function readInPieces(text: string, pieceBytes: number): { at: number; state: string } {
  const bytes = Buffer.from(text, "latin1");
  const chunks = newChunks();
  let at = 0;
  while (at < bytes.length && chunks.state !== "done" && chunks.state !== "bad") {
    const to = Math.min(at + pieceBytes, bytes.length);
    at = readChunks(chunks, bytes, at, to);
    assert.ok(at <= to, "bytes were read that have not come");
  }
  return { at, state: chunks.state };
}

const ends: Readonly<Record<string, readonly [body: string, state: string, at: number]>> = {
  "whole chunks": ["1\r\na\r\n2\r\nbc\r\n0\r\n\r\nGET", "done", 18],
  "the longest size": ["0000000000001\r\na\r\n", "size", 18],
  "a size too long": ["00000000000001\r\na\r\n", "bad", 13],
  "no CR after the size": ["1\n\na\r\n", "bad", 1],
  "no LF after the size": ["1\r\ra\r\n", "bad", 2],
  "no CR after the data": ["1\r\naa\n", "bad", 4],
  "no LF after the data": ["1\r\na\ra", "bad", 5],
  "a bad chunk after a good one": ["1\r\na\r\n1\r\nbcc", "bad", 10],
  "no size": ["\r\n\r\n", "bad", 0],
};
const alphabet = fc.constantFrom(
  "0",
  "1",
  "2",
  "3",
  "a",
  ";",
  "\r",
  "\n",
  "\r\n",
  "\r\n",
  "1\r\nx\r\n",
);
const bodies = fc.array(alphabet, { maxLength: 24 }).map((parts) => parts.join(""));

for (const [what, [body, state, at]] of Object.entries(ends))
  test(`${what}: ${state}`, () => {
    assert.deepEqual(readInPieces(body, body.length), { at, state });
    assert.deepEqual(readInPieces(body, 1), { at, state });
  });

test("a chunked body reads the same, however it is cut", () => {
  fc.assert(
    fc.property(bodies, fc.integer({ min: 2, max: 24 }), (body, pieceBytes) => {
      assert.deepEqual(readInPieces(body, pieceBytes), readInPieces(body, 1));
    }),
    { numRuns: 2_000 },
  );
});
