import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { writeEnd } from "../../../../control/services/replicas/log.ts";

const text = Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join("");

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

for (const size of [1, 7, 64, 5_000])
  for (const most of [10, 100, 889, 890, 5_000])
    test(`of a log that comes in pieces of ${size} bytes the last ${most} are kept`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), "kept-"));
      t.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, "log");
      writeFileSync(`${file}.before`, "of an attempt that was killed");

      await writeEnd(file, chunksOf(Buffer.from(text), size), most, t.signal);

      const kept = readFileSync(file, "utf8");
      assert.ok(text.endsWith(kept), kept);
      assert.ok(kept.length <= most + 1 && kept.length >= Math.min(text.length, most / 2));
      assert.deepEqual(readdirSync(folder), ["log"]);
    });
