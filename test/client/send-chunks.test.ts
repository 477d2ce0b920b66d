import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sendChunks } from "../../client/send-chunks.ts";

const blobId = "0".repeat(64);

/** Sends ten bytes in chunks of four to a control plane that has some of them; which were sent. */
async function sent(t: TestContext, ...there: number[]): Promise<[index: number, text: string][]> {
  const folder = mkdtempSync(join(tmpdir(), "chunks-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const archive = join(folder, "files.zip");
  writeFileSync(archive, "0123456789");
  const calls: [number, string][] = [];
  const has = new Set(there);
  const client = {
    async uploadBytes(
      _row: unknown,
      { chunk_index: index }: { chunk_index: number },
      content: Buffer,
    ) {
      calls.push([index, content.toString()]);
      has.add(index);
      const missing = [0, 1, 2].filter((at) => !has.has(at)).map((at) => `part${at}`);
      const status = missing.length === 0 ? "completed" : "uploading";
      return { status, missing_chunks: missing };
    },
  };
  await sendChunks(client as never, { archive, blobId, chunkBytes: 4 }, () => {}, t.signal);
  return calls;
}

test("every chunk of an archive is sent where none is there", async (t) => {
  assert.deepEqual(await sent(t), [
    [0, "0123"],
    [1, "4567"],
    [2, "89"],
  ]);
});

test("chunks that control has of an earlier try are not sent again", async (t) => {
  assert.deepEqual(await sent(t, 0, 1), [
    [0, "0123"],
    [2, "89"],
  ]);
});
