import assert from "node:assert/strict";
import { lstatSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openDigests } from "../../client/digests.ts";
import { sha256Of } from "../helpers/files.ts";

/** A file that was written a while ago, as far as the digests can tell. */
function aFile(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "digests-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [path, cache] = [join(folder, "a.py"), join(folder, "cache")];
  writeFileSync(path, "one");
  const laterMs = 10_000;
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() + laterMs });
  return { path, cache, open: () => openDigests(cache, [folder]), stats: () => lstatSync(path) };
}

test("a file that looks as it did is not read again, and one that looks different is", async (t) => {
  const { path, open, stats } = aFile(t);
  const first = open();
  assert.equal(first.find(path, stats()), undefined);
  assert.equal(await first.read(path, stats()), sha256Of("one"));
  first.save("look", "blob");

  assert.equal(open().findBlob("look"), "blob");
  assert.equal(open().findBlob("another look"), undefined);
  assert.equal(open().find(path, stats()), sha256Of("one"));

  utimesSync(path, new Date(0), new Date(0));
  assert.equal(open().find(path, stats()), undefined);
  writeFileSync(path, "two");
  assert.equal(open().find(path, stats()), undefined);
});

test("a file that was changed just now is read again the next time, too", async (t) => {
  const { path, open, stats } = aFile(t);
  t.mock.timers.setTime(stats().mtimeMs + 500);
  const first = open();
  await first.read(path, stats());
  first.save("look", "blob");

  assert.equal(open().findBlob("look"), undefined);
  assert.equal(open().find(path, stats()), undefined);
});

test("a damaged cache is as good as none, and files that are gone are forgotten", async (t) => {
  const { path, cache, open, stats } = aFile(t);
  const first = open();
  await first.read(path, stats());
  first.save("look", "blob");
  const [name = ""] = readdirSync(cache);

  open().save("another look", "another blob");
  assert.equal(open().find(path, stats()), undefined);
  writeFileSync(join(cache, name), "[[");
  const again = open();
  assert.equal(again.find(path, stats()), undefined);
  await again.read(path, stats());
  again.save("look", "blob");
  assert.equal(open().find(path, stats()), sha256Of("one"));
});
