import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { gapLine, gapOf } from "../../../../contract/hooks.ts";
import { copyStateOf, openCopy, readCopy } from "../../../../control/log-copy.ts";

const megabyte = 2 ** 20;
const once = async () => true;
const all = (file: string, offset = 0) => buffer(readCopy(file, offset, once));

/** The name of a copy that is not there yet. */
function aFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "copy-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "l1", "stop.log");
}

/** Bytes that tell every so often where they belong. */
function bytesFrom(offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length, "x");
  for (let at = 0; at < length; at += 4096)
    bytes.write(`${String(offset + at).padStart(15, "0")}\n`, at);
  return bytes;
}

test("a copy goes on where it was left, and is whole until more is written", async (t) => {
  const file = aFile(t);
  {
    await using copy = await openCopy(file);
    await copy.write(0, Buffer.from("one\n"));
    await copy.finish();
  }
  assert.equal((await copyStateOf(file)).isWhole, true);
  await using copy = await openCopy(file);

  assert.equal(copy.size, 4);
  await copy.write(4, Buffer.from("two\n"));

  assert.equal((await copyStateOf(file)).isWhole, false);
  assert.equal(String(await all(file)), "one\ntwo\n");
});

test("a large log keeps its first MiB, its last nine, and little more on disk", async (t) => {
  const file = aFile(t);
  const size = 48 * megabyte;
  await using copy = await openCopy(file);
  let most = 0;
  for (let at = 0; at < size; at += megabyte) {
    await copy.write(at, bytesFrom(at, megabyte));
    most = Math.max(most, statSync(file).blocks * 512);
  }
  const growing = await all(file);
  await copy.finish();
  const whole = await all(file);

  for (const [read, isOver] of [
    [growing, false],
    [whole, true],
  ] as const) {
    const gap = gapOf(size, isOver);
    assert.ok(gap);
    const wanted = [
      bytesFrom(0, gap.from),
      Buffer.from(gapLine(gap)),
      bytesFrom(gap.to, size - gap.to),
    ];
    assert.ok(read.equals(Buffer.concat(wanted)), `isOver ${isOver}`);
  }
  if (hasFallocate()) assert.ok(most < 34 * megabyte, `${most} bytes on disk`);
});

const hasFallocate = () => {
  try {
    return execFileSync("fallocate", ["--version"]).length > 0;
  } catch {
    return false;
  }
};

test("a disk that takes no holes is told of, and what is read is the same", async (t) => {
  const file = aFile(t);
  const { PATH } = process.env;
  t.after(() => {
    process.env["PATH"] = PATH;
  });
  process.env["PATH"] = "/nowhere";
  const why: unknown[] = [];
  await using copy = await openCopy(file, { stays: (error) => void why.push(error) });

  for (let at = 0; at < 27 * megabyte; at += megabyte)
    await copy.write(at, bytesFrom(at, megabyte));

  assert.match(String(why[0]), /fallocate/);
  assert.ok((await all(file)).includes(gapLine({ from: megabyte, to: 16 * megabyte })));
});

test("bytes that a node left out are never read, not even before the copy is as long", async (t) => {
  const file = aFile(t);
  await using copy = await openCopy(file);
  await copy.write(0, bytesFrom(0, 2 * megabyte));

  await copy.write(16 * megabyte, bytesFrom(16 * megabyte, 4096));

  const gap = { from: 2 * megabyte, to: 16 * megabyte };
  const wanted = [bytesFrom(0, gap.from), Buffer.from(gapLine(gap)), bytesFrom(gap.to, 4096)];
  assert.ok((await all(file)).equals(Buffer.concat(wanted)));
  assert.ok((await all(file, gap.to)).equals(bytesFrom(gap.to, 4096)));
});

test("a reader that a gap overtakes goes on behind it", async (t) => {
  const file = aFile(t);
  await using copy = await openCopy(file);
  await copy.write(0, bytesFrom(0, megabyte));
  const rounds = [false, true];
  const chunks: Buffer[] = [];

  for await (const chunk of readCopy(file, 0, async () => rounds.shift() ?? true)) {
    if (chunks.length === 0)
      for (let at = megabyte; at < 30 * megabyte; at += megabyte)
        await copy.write(at, bytesFrom(at, megabyte));
    chunks.push(chunk);
  }

  const read = Buffer.concat(chunks);
  assert.ok(!read.includes(0), "read where nothing is");
  const gap = { from: megabyte, to: 16 * megabyte };
  assert.ok(read.subarray(megabyte).includes(gapLine(gap)));
  assert.ok(read.subarray(-4096).equals(bytesFrom(30 * megabyte - 4096, 4096)));
});

test("there is no copy where nothing was written", async (t) => {
  const file = aFile(t);

  assert.equal((await all(file)).length, 0);
  assert.deepEqual(await copyStateOf(file), { gap: null, isWhole: false });
  assert.equal(existsSync(file), false);
});
