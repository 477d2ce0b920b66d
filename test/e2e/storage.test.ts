import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";

test("a folder that one task puts into a bucket reaches the nodes of another", async (t) => {
  const control = await startControl(t);
  const write = (name: string, text: string) => writeFileSync(join(control.home, name), text);
  const taskOf = (storage: object, run: string) =>
    JSON.stringify({ file_mounts: { "~/set": { name: "my-set", mode: "COPY", ...storage } }, run });
  mkdirSync(join(control.home, "data"));
  write("data/a.txt", "a\n");
  write("b.txt", "b\n");
  write("put.yaml", taskOf({ source: ["data", "b.txt"] }, "ls ~/set"));
  write("get.yaml", taskOf({}, "cat ~/set/data/a.txt ~/set/b.txt"));

  const put = await control.cli("launch", "-y", "-c", "one", "put.yaml");
  assert.equal(put.code, 0, put.stderr);
  assert.match(put.stdout, /^b.txt\ndata$/m);
  const get = await control.cli("launch", "-y", "-c", "two", "get.yaml");
  assert.match(get.stderr, /^~\/set: 2 of 2 files changed, 4 bytes$/m);
  assert.match(get.stdout, /^a\nb$/m);

  const listed = await control.cli("storage", "ls");
  assert.match(listed.stdout, /^my-set +control +READY/m);
  const deleted = await control.cli("storage", "delete", "-y", "my-*");
  assert.match(deleted.stderr, /Deleted storage my-set\./);
  const missing = await control.cli("storage", "delete", "-y", "my-set");
  assert.equal(missing.code, 3);
  assert.equal(readFileSync(join(control.home, "data/a.txt"), "utf8"), "a\n");
});
