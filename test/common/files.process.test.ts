import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readNamed } from "../../common/files.ts";

const folder = mkdtempSync(join(tmpdir(), "named-"));
after(() => rmSync(folder, { recursive: true }));

test("a regular file is read up to its limit, and refused above it", () => {
  const file = join(folder, "file");
  writeFileSync(file, "x".repeat(200_000));

  assert.equal(readNamed(file, { mostBytes: 200_000 }).length, 200_000);
  assert.throws(() => readNamed(file, { mostBytes: 199_999 }), {
    name: "ValueError",
    message: /more than 199999 bytes/,
  });
});

test("devices, folders and pipes without a writer are refused at once", () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);

  for (const file of ["/dev/zero", "/dev/null", folder, pipe])
    assert.throws(() => readNamed(file, { mostBytes: 10 }), {
      name: "ValueError",
      message: `${file} is not a regular file`,
    });
});

test("a pipe is read where pipes may be named, up to the same limit", () => {
  const pipe = join(folder, "open");
  execFileSync("mkfifo", [pipe]);
  const write = (text: string) => spawn("sh", ["-c", `printf ${text} > "$0"`, pipe]);

  write("abc");
  assert.equal(readNamed(pipe, { mostBytes: 3, mayBePipe: true }).toString(), "abc");
  write("abcd");
  assert.throws(() => readNamed(pipe, { mostBytes: 3, mayBePipe: true }), { name: "ValueError" });
});
