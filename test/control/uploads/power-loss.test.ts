import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { test } from "node:test";
import { openUploads, type Uploads } from "../../../control/uploads/uploads.ts";
import { sha256Of } from "../../helpers/files.ts";
import { openShelf } from "./shelf.ts";
import { idOf, zipOf } from "./zips.ts";

const blob = idOf({ a: "x" });
const hourMs = 3_600_000;

test("an upload goes on where it was before control was started again", async (t) => {
  const shelf = openShelf(t);
  const bytes = await zipOf({ a: "one", b: "two" });
  const id = idOf({ a: "one", b: "two" });
  const half = Math.ceil(bytes.length / 2);
  const take = (uploads: Uploads, index: number) =>
    uploads.take(
      "u1",
      id,
      { uploadId: id, index, total: 2 },
      Readable.from([bytes.subarray(index * half, (index + 1) * half)]),
    );
  await take(shelf.uploads, 0);

  const { status } = await take(
    openUploads(shelf.root, () => new Date()),
    1,
  );

  assert.equal(status, "completed");
  assert.deepEqual(await shelf.paths(id), ["a", "b"]);
});

/** What the disk has after a power loss between two writes, in their order; a chunk that came is complete. */
const cuts: Readonly<Record<string, (upload: Upload) => void>> = {
  "a chunk has no name yet": ({ part }) => writeFileSync(part("1.new"), "ha"),
  "the whole archive is half written": ({ part }) => writeFileSync(part("whole.zip.new"), "ha"),
  "the whole archive is there, and its chunks are, too": ({ part, bytes }) =>
    writeFileSync(part("whole.zip"), bytes),
  "a content has no name yet": ({ part, bytes }) => {
    writeFileSync(part("whole.zip"), bytes);
    mkdirSync(part("contents"));
    writeFileSync(part("contents/1.new"), "ha");
  },
  "a content is half written under its name": ({ part, bytes }) => {
    writeFileSync(part("whole.zip"), bytes);
    mkdirSync(part("contents"));
    writeFileSync(part(`contents/${sha256Of("two")}`), "t");
  },
  "contents are there, and no manifest": ({ part, bytes, shelf }) => {
    writeFileSync(part("whole.zip"), bytes);
    mkdirSync(shelf.under("contents"), { recursive: true });
    writeFileSync(shelf.under("contents", sha256Of("one")), "one");
  },
  "the manifest is half written": ({ part, bytes, shelf, id }) => {
    writeFileSync(part("whole.zip"), bytes);
    mkdirSync(shelf.under("blobs"), { recursive: true });
    writeFileSync(shelf.under("blobs", `${id}.new`), '{"kind":');
  },
};
interface Upload {
  readonly shelf: ReturnType<typeof openShelf>;
  readonly id: string;
  readonly bytes: Buffer;
  part(name: string): string;
}

for (const [when, cut] of Object.entries(cuts))
  test(`a power loss while ${when} costs at most the last chunk, and leaves nothing behind`, async (t) => {
    const shelf = openShelf(t);
    const files = { a: "one", b: "two" };
    const [id, bytes] = [idOf(files), await zipOf(files)];
    const half = Math.ceil(bytes.length / 2);
    const chunk = { uploadId: id, index: 0, total: 2 };
    await shelf.uploads.take("u1", id, chunk, Readable.from([bytes.subarray(0, half)]));
    cut({ shelf, id, bytes, part: (name) => shelf.under("parts", id, name) });

    const again = openUploads(shelf.root, () => new Date());
    assert.equal(await again.hasBlob("u1", id), false);
    const last = Readable.from([bytes.subarray(half)]);
    const { status } = await again.take("u1", id, { ...chunk, index: 1 }, last);

    assert.equal(status, "completed");
    for (const text of Object.values(files))
      assert.equal(readFileSync(again.contentOf("u1", sha256Of(text)), "utf8"), text);
    assert.deepEqual([shelf.list("parts"), shelf.list("blobs")], [[], [id]]);
  });

test("contents of an upload that a crash cut short go, once nobody names them", async (t) => {
  const shelf = openShelf(t);
  await shelf.uploads.take("u1", blob, { uploadId: blob, index: 0, total: 2 }, Readable.from("x"));
  mkdirSync(shelf.under("contents"), { recursive: true });
  writeFileSync(shelf.under("contents", sha256Of("nobody's")), "nobody's");

  shelf.pass(2 * hourMs);
  await shelf.uploads.collect(new Set());

  assert.deepEqual([shelf.list("parts"), shelf.list("contents")], [[], []]);
});
