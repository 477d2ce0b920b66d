import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { gather, readItems } from "../../client/gather.ts";
import { packInto } from "../../client/pack.ts";
import { smallFileBytes } from "../../common/files.ts";
import { readArchive } from "../../control/uploads/archive.ts";
import { sha256Of } from "../helpers/files.ts";

const roomy = { entries: 1_000, bytes: 2 ** 30, modestBytes: 2 ** 30, ratio: 200 };

function aFolder(t: TestContext): { folder: string; archive: string } {
  const root = mkdtempSync(join(tmpdir(), "pack-"));
  t.after(() => rmSync(root, { recursive: true }));
  return { folder: mkdtempSync(join(root, "files-")), archive: join(root, "files.zip") };
}

for (const compress of [false, true])
  test(`more small files than are held at a time, and a large one, are packed, compress: ${compress}`, async (t) => {
    const { folder, archive } = aFolder(t);
    for (let at = 0; at < 280; at += 1)
      writeFileSync(join(folder, `${at}`), Buffer.alloc(smallFileBytes, `${at} `));
    writeFileSync(join(folder, "100.large"), Buffer.alloc(3 * smallFileBytes + 1, "large"));
    const items = await readItems(await gather([folder]));

    await packInto(archive, items, { compress });

    const kept = new Set<string>();
    const { entries } = await readArchive(archive, roomy, async (content) => {
      const bytes = Buffer.isBuffer(content) ? content : await buffer(content);
      kept.add(sha256Of(bytes));
      return { sha256: sha256Of(bytes), size: bytes.length };
    });
    const files = items.flatMap((item) => (item.kind === "file" ? [item.sha256] : []));
    assert.equal(entries.size, items.length);
    assert.deepEqual(kept, new Set(files));
  });

for (const size of [10, 2 * smallFileBytes])
  test(`a file of ${size} bytes that changes after it was read is refused`, async (t) => {
    const { folder, archive } = aFolder(t);
    const file = join(folder, "file");
    writeFileSync(file, Buffer.alloc(size, "before"));
    const items = await readItems(await gather([folder]));
    writeFileSync(file, Buffer.alloc(size, "later"));

    await assert.rejects(packInto(archive, items, { compress: false }), {
      name: "ConflictError",
      message: /file changed while it was being packed/,
    });
  });
