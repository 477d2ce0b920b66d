import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
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

/** How many members were packed without being held. Source: APPNOTE.TXT of PKWARE, 4.3.12 and 4.4.4. */
function streamedIn(archive: Buffer): number {
  let streamed = 0;
  for (let at = archive.indexOf("PK\x01\x02"); at >= 0; at = archive.indexOf("PK\x01\x02", at + 4))
    if (archive.readUInt16LE(at + 8) & 0x8) streamed += 1;
  return streamed;
}

for (const compress of [false, true])
  test(`more small files than are held at a time, and a large one, are packed, compress: ${compress}`, async (t) => {
    const { folder, archive } = aFolder(t);
    for (let at = 0; at < 280; at += 1)
      writeFileSync(join(folder, `${at}`), Buffer.alloc(smallFileBytes, `${at} `));
    writeFileSync(join(folder, "100.large"), Buffer.alloc(3 * smallFileBytes + 1, "large"));
    const items = await readItems(await gather([folder]));

    await packInto(archive, items, { compress });

    const packed = readFileSync(archive);
    // A large file in between starts the count anew.
    assert.equal(streamedIn(packed), compress ? 6 : 2);
    await packInto(archive, items, { compress });
    assert.ok(readFileSync(archive).equals(packed), "the same files make another archive");
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

test("a small file that has grown since it was read is refused and not read whole", async (t) => {
  const { folder, archive } = aFolder(t);
  const file = join(folder, "file");
  writeFileSync(file, "small");
  const items = await readItems(await gather([folder]));
  truncateSync(file, 3 * 2 ** 30);

  await assert.rejects(packInto(archive, items, { compress: false }), { name: "ConflictError" });
});
