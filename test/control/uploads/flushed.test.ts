import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sha256Of } from "../../helpers/files.ts";
import { idOf, zipOf } from "./zips.ts";

const program = join(import.meta.dirname, "keeps-upload.ts");
const calls = "trace=fsync,rename,write";
const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
const skip = !canTrace && "strace cannot be used here";

test("an upload is completed once its contents, its manifest and their folders are on disk", {
  skip,
}, async (t) => {
  const root = mkdtempSync(join(tmpdir(), "flushed-"));
  t.after(() => rmSync(root, { recursive: true }));
  const members = { a: "one", b: "two" };
  const blob = idOf(members);
  const [archive, trace] = [join(root, "archive"), join(root, "trace")];
  writeFileSync(archive, await zipOf(members));

  const args = ["-f", "-y", "-s", "512", "-o", trace, "-e", calls, process.execPath, program];
  // With one thread for files, a call that is interrupted in the trace is the next one resumed.
  const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
  execFileSync("strace", [...args, join(root, "clients"), archive, blob], { env });

  const lines = readFileSync(trace, "utf8").split("\n");
  const at = (text: string) => lines.findIndex((line) => line.includes(text));
  const flushed = (path: string) => {
    const begun = lines.findLastIndex((l) => l.includes("fsync(") && l.includes(`/${path}>`));
    const isWhole = !lines[begun]?.includes("<unfinished");
    return isWhole ? begun : lines.findIndex((l, i) => i > begun && l.includes("fsync resumed"));
  };
  const named = (path: string) => at(`/u1/files/${path}"`);
  const completed = lines.findIndex((line) => /write\(1<.*"completed\\n"/.test(line));
  const inOrder = (...steps: number[]) => {
    assert.ok(!steps.includes(-1), `${steps}: ${lines.join("\n")}`);
    assert.deepEqual(
      steps,
      steps.toSorted((one, other) => one - other),
    );
  };
  for (const sha256 of Object.values(members).map(sha256Of))
    inOrder(
      flushed(`parts/${blob}/contents/${sha256}`),
      named(`contents/${sha256}`),
      flushed("files/contents"),
      named(`blobs/${blob}`),
    );
  inOrder(flushed(`blobs/${blob}.new`), named(`blobs/${blob}`), flushed("files/blobs"), completed);
});
