import assert from "node:assert/strict";
import { promises, readdirSync, readFileSync, utimesSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { Readable } from "node:stream";
import { test } from "node:test";
import { blobIdOf } from "../../../contract/blob-id.ts";
import { until } from "../../helpers/agent.ts";
import { sha256Of } from "../../helpers/files.ts";
import { openShelf } from "./shelf.ts";
import { idOf, zipOf } from "./zips.ts";

const one = { a: "x" };
const blob = idOf(one);
const hourMs = 3_600_000;

test("chunks may come in any order, and the last one has them unpacked", async (t) => {
  const shelf = openShelf(t);
  const members = { "p/a": "text", "p/b": "text" };
  const bytes = await zipOf(members);
  const blob = idOf(members);

  assert.equal(await shelf.uploads.hasBlob("u1", blob), false);
  const told = await shelf.send(bytes, blob, { order: [2, 0, 1] });

  assert.deepEqual(told, [
    { status: "uploading", missing_chunks: ["part0", "part1"] },
    { status: "uploading", missing_chunks: ["part1"] },
    { status: "completed", missing_chunks: null },
  ]);
  assert.equal(await shelf.uploads.hasBlob("u1", blob), true);
  assert.deepEqual(await shelf.paths(blob), ["p/a", "p/b"]);
  assert.deepEqual(shelf.list("contents"), [sha256Of("text")]);
  assert.equal(readFileSync(shelf.uploads.contentOf("u1", sha256Of("text")), "utf8"), "text");
  assert.deepEqual(shelf.list("parts"), []);
});

test("a blob is its owner's alone", async (t) => {
  const shelf = openShelf(t);
  await shelf.send(await zipOf(one), blob);

  assert.equal(await shelf.uploads.hasBlob("u2", blob), false);
  assert.equal(await shelf.uploads.open("u2", blob), undefined);
});

test("chunks that come at once are unpacked once", async (t) => {
  const shelf = openShelf(t);
  const bytes = await zipOf(one);
  const half = Math.ceil(bytes.length / 2);
  const parts = [bytes.subarray(0, half), bytes.subarray(half)];

  const told = await Promise.all(
    parts.map((part, index) =>
      shelf.uploads.take("u1", blob, { uploadId: blob, index, total: 2 }, Readable.from([part])),
    ),
  );

  assert.ok(told.some(({ status }) => status === "completed"));
});

test("a blob that is there may be sent again, but nothing else under its id", async (t) => {
  const shelf = openShelf(t);
  await shelf.send(await zipOf(one), blob);

  const [again] = await shelf.send(await zipOf(one), blob);
  assert.equal(again?.status, "completed");
  await assert.rejects(shelf.send(Buffer.from("whatever"), blob), { name: "ValueError" });
  await assert.rejects(shelf.send(await zipOf({ a: "y" }), blob), { name: "ValueError" });

  assert.deepEqual(shelf.list("contents"), [sha256Of("x")]);
  assert.deepEqual(await shelf.paths(blob), ["a"]);
});

test("an id is the one that existing clients compute, or ours, which has permissions", () => {
  const members = Object.entries({ "p/": "", "p/a": "text", "/p/l": "a", "p/é😀": "x", "p/￮": "y" })
    .map(([name, text]) => ({ name, mode: 0o644, digest: Buffer.from(sha256Of(text), "hex") }))
    .toReversed();

  // Computed by the existing client's own code, version 0.14.0.
  const theirs = "d3770b3917e546d956aadb9d77be24eae4bd57679d7dfe3b82fc53d37c6c2691";
  assert.equal(blobIdOf(members, "contents"), theirs);
  assert.notEqual(blobIdOf(members, "modes"), theirs);
});

test("an archive that holds other files than its id stands for is refused", async (t) => {
  const shelf = openShelf(t);

  await assert.rejects(shelf.send(await zipOf({ a: "y" }), blob), {
    name: "ValueError",
    message: /does not match its blob id/,
  });

  assert.equal(await shelf.uploads.hasBlob("u1", blob), false);
  assert.deepEqual([...shelf.list("contents"), ...shelf.list("parts")], []);
});

test("an upload that is no zip leaves nothing, and may be sent again", async (t) => {
  const shelf = openShelf(t);

  await assert.rejects(shelf.send(Buffer.from("no zip"), blob), { name: "ValueError" });
  const leadsOut = { "p/a": "x", "@@#b": "y" };
  await assert.rejects(shelf.send(await zipOf(leadsOut), idOf(leadsOut)), { name: "ValueError" });

  assert.equal(await shelf.uploads.hasBlob("u1", blob), false);
  assert.deepEqual([...shelf.list("contents"), ...shelf.list("parts")], []);
  await shelf.send(await zipOf(one), blob);
  assert.deepEqual(await shelf.paths(blob), ["a"]);
});

test("a chunk beyond the last one is refused, and a client that hangs up leaves no part", async (t) => {
  const shelf = openShelf(t);
  const take = (index: number, body: Readable) =>
    shelf.uploads.take("u1", blob, { uploadId: blob, index, total: 2 }, body);
  const cut = new Readable({ read() {} });
  cut.push("half");

  await assert.rejects(take(2, Readable.from([])), { name: "ValueError", message: /chunk 2 of 2/ });
  const hungUp = assert.rejects(take(0, cut), {
    name: "ValueError",
    message: /client disconnected/,
  });
  await until(() => shelf.list(`parts/${blob}`).length > 0 || undefined);
  cut.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" }));
  await hungUp;

  assert.deepEqual(readdirSync(shelf.under("parts", blob)), []);
});

test("a disk that is full is told as such, and leaves no part", async (t) => {
  const shelf = openShelf(t);
  const body = new Readable({ read() {} });
  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });

  const taking = shelf.uploads.take("u1", blob, { uploadId: blob, index: 0, total: 1 }, body);
  const refused = assert.rejects(taking, {
    name: "DiskFullError",
    message: /the disk of control is full/,
  });
  await until(() => shelf.list(`parts/${blob}`).length > 0 || undefined);
  body.destroy(full);
  await refused;

  assert.deepEqual(readdirSync(shelf.under("parts", blob)), []);
});

test("no chunk is taken while less of the disk is free than is kept for control itself", async (t) => {
  const shelf = openShelf(t);
  const statfs = t.mock.method(promises, "statfs", async () => ({ bavail: 255, bsize: 2 ** 20 }));
  syncBuiltinESMExports();
  t.after(() => {
    statfs.mock.restore();
    syncBuiltinESMExports();
  });

  await assert.rejects(shelf.send(await zipOf(one), blob), { name: "DiskFullError" });

  assert.deepEqual(shelf.list("parts"), []);
});

test("a user has so much room for files, whatever other users have", async (t) => {
  const shelf = openShelf(t, 6_000);
  const [large, small] = [{ a: "x".repeat(4_000) }, { b: "y".repeat(3_000) }];
  await shelf.send(await zipOf(large), idOf(large));
  const refused = { name: "TooLargeError", message: /more than the 0 MB that a user has/ };

  await assert.rejects(shelf.send(await zipOf(small), idOf(small)), refused);
  const other = { uploadId: idOf(small), index: 0, total: 1 };
  await shelf.uploads.take("u2", idOf(small), other, Readable.from([await zipOf(small)]));
  shelf.pass(25 * hourMs);
  for (const name of shelf.list("contents"))
    utimesSync(shelf.under("contents", name), new Date(0), new Date(0));
  await shelf.uploads.collect(new Set());
  await shelf.send(await zipOf(small), idOf(small));
});

test("the parts of all uploads have so much room together, whatever a part has", async (t) => {
  const shelf = openShelf(t, 6_000);
  const take = (uploadId: string, bytes: number) =>
    shelf.uploads.take(
      "u1",
      uploadId,
      { uploadId, index: 0, total: 2 },
      Readable.from(["z".repeat(bytes)]),
    );
  const [first, second] = [idOf({ a: "1" }), idOf({ a: "2" })];
  const refused = { name: "TooLargeError", message: /more than the 0 MB that a user has/ };

  await assert.rejects(take(first, 6_001), refused);
  await take(first, 2_500);
  await assert.rejects(take(second, 3_501), refused);
  assert.deepEqual(readdirSync(shelf.under("parts", second)), []);
  await take(second, 3_500);
});

test("a part that is too large is refused while it comes", async (t) => {
  const shelf = openShelf(t, 6_000);
  let come = 0;
  const endless = Readable.from(
    (function* () {
      while (come < 2 ** 30) {
        come += 2 ** 20;
        yield Buffer.alloc(2 ** 20);
      }
    })(),
  );
  const noRest = t.mock.method(endless, "resume", () => endless);

  await assert.rejects(
    shelf.uploads.take("u1", blob, { uploadId: blob, index: 0, total: 1 }, endless),
    { name: "TooLargeError" },
  );

  assert.ok(come < 2 ** 26, `${come} bytes came`);
  assert.ok(noRest.mock.callCount() > 0);
});

test("contents that a user has already take no more room when they are sent again", async (t) => {
  const shelf = openShelf(t, 6_000);
  const a = "x".repeat(4_000);

  await shelf.send(await zipOf({ a }), idOf({ a }));
  await shelf.send(await zipOf({ a }), idOf({ a }));
  const more = { a, b: "y" };
  await shelf.send(await zipOf(more), idOf(more));

  assert.equal(shelf.list("contents").length, 2);
});

test("what comes without a blob's id is added to what the user sent before", async (t) => {
  const shelf = openShelf(t);
  await shelf.send(await zipOf({ p: null, "p/a": "one", "p/gone": "x", q: "q", "r/s": "r" }), null);
  await shelf.send(
    await zipOf({ p: null, "p/a": "two", r: "now a file", "q/x": "now below" }),
    null,
  );

  assert.deepEqual((await shelf.paths(null))?.toSorted(), ["p", "p/a", "q/x", "r"]);
});

test("what came without a blob's id is kept as it was then, under an id of its own", async (t) => {
  const shelf = openShelf(t);
  assert.equal(await shelf.uploads.keepMerged("u1"), undefined);
  await shelf.send(await zipOf({ a: "one" }), null);

  const kept = (await shelf.uploads.keepMerged("u1")) ?? assert.fail("nothing was kept");
  assert.equal(await shelf.uploads.keepMerged("u1"), kept);
  await shelf.send(await zipOf({ a: "two", b: "x" }), null);

  assert.deepEqual(
    (await (await shelf.uploads.open("u1", kept))?.entries())?.map(
      (entry) => entry.kind === "file" && entry.sha256,
    ),
    [sha256Of("one")],
  );
  assert.notEqual(await shelf.uploads.keepMerged("u1"), kept);
});

test("what nobody used for a day goes, but not what a request needs", async (t) => {
  const shelf = openShelf(t);
  const both = { a: "only here", b: "in both" };
  const blob = idOf(both);
  const other = idOf({ b: "in both" });
  await shelf.send(await zipOf(both), blob);
  await shelf.send(await zipOf({ b: "in both" }), other);
  const age = () => {
    for (const name of shelf.list("contents"))
      utimesSync(shelf.under("contents", name), new Date(0), new Date(0));
  };

  shelf.pass(23 * hourMs);
  assert.equal(await shelf.uploads.hasBlob("u1", other), true);
  shelf.pass(2 * hourMs);
  age();
  await shelf.uploads.collect(new Set([blob]));
  assert.equal(shelf.list("contents").length, 2);
  await shelf.uploads.collect(new Set());

  assert.deepEqual(shelf.list("blobs"), [other]);
  assert.deepEqual(shelf.list("contents"), [sha256Of("in both")]);
});

test("an upload that took too long a break goes", async (t) => {
  const shelf = openShelf(t);
  await shelf.uploads.take(
    "u1",
    blob,
    { uploadId: blob, index: 0, total: 2 },
    Readable.from(["half"]),
  );

  await shelf.uploads.collect(new Set());
  assert.equal(shelf.list("parts").length, 1);
  shelf.pass(2 * hourMs);
  await shelf.uploads.collect(new Set());

  assert.deepEqual(shelf.list("parts"), []);
});
