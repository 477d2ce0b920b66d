import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { cacheOf } from "../../../agent/mounts/mount.ts";
import { type MountRow, saveMount } from "../../../agent/mounts/store.ts";
import { untilWrittenBack } from "../../../agent/mounts/unwritten.ts";
import { aWorld } from "../world.ts";

test("a file that keeps changing, or has an empty note, is waited for unless others are written", async (t) => {
  const { world, home } = aWorld(t);
  const root = join(home, "set");
  const order = { name: "s3://data", bucket: "data" };
  saveMount(world, {
    order,
    root,
    program: "",
    server: null,
    problem: null,
  } as unknown as MountRow);
  const files = ["vfsMeta", "vfs"].map((kind) =>
    join(cacheOf(world, root), kind, "bucket/data/log.txt"),
  );
  for (const file of files) mkdirSync(dirname(file), { recursive: true });
  const [note = "", data = ""] = files;
  writeFileSync(note, JSON.stringify({ Dirty: true, Size: 4 }));
  const writing = setInterval(() => appendFileSync(data, "a"), 50);
  t.after(() => clearInterval(writing));

  const result = await untilWrittenBack(world, AbortSignal.timeout(1_500));
  assert.deepEqual(
    result?.left.map(({ name }) => name),
    ["s3://data/log.txt"],
  );
  assert.equal(
    await untilWrittenBack(world, AbortSignal.timeout(10_000), { areOthersWriting: () => true }),
    undefined,
  );

  clearInterval(writing);
  const still = await untilWrittenBack(world, AbortSignal.timeout(1_000), {
    areOthersWriting: () => true,
  });
  assert.equal(still?.left.length, 1);

  // As rclone leaves it for a moment before it writes.
  writeFileSync(note, "");
  const unread = await untilWrittenBack(world, AbortSignal.timeout(100));
  assert.equal(unread?.left.length, 1);
});
