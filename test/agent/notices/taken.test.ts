import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cancelLifecycle, listLifecycles } from "../../../agent/lifecycles/lifecycles.ts";
import { findOpenLifecycle } from "../../../agent/lifecycles/store.ts";
import { cloudOf } from "../../../agent/notices/cloud.ts";
import { readNoticeFile } from "../../../agent/notices/file.ts";
import { deadlineOf, takeNotice } from "../../../agent/notices/notices.ts";
import { aWorld, openedAt as now } from "../world.ts";

const aNotice = (more: object = {}) => ({
  id: "1",
  because: "AWS: stop",
  deadlineAt: null,
  ...more,
});

test("a node goes when its notice says, after its grace where that says nothing", () => {
  assert.equal(deadlineOf(aNotice(), now, 30_000), now + 30_000);
  assert.equal(deadlineOf(aNotice({ deadlineAt: now + 120_000 }), now, 30_000), now + 120_000);
  assert.equal(deadlineOf(aNotice({ deadlineAt: now + 20_000.4 }), now, 30_000), now + 20_000);
});

test("a deadline that is over leaves hooks a few seconds to be tried", () => {
  for (const lateMs of [0, 1_000, 86_400_000])
    assert.equal(deadlineOf(aNotice({ deadlineAt: now - lateMs }), now, 30_000), now + 10_000);
});

test("a notice that is seen again and again begins one preemption", (t) => {
  const { world } = aWorld(t);
  for (const _ of [1, 2, 3]) takeNotice(world, "aws", aNotice({ deadlineAt: now + 120_000 }));

  const [begun, ...more] = listLifecycles(world);
  assert.deepEqual(more, []);
  assert.deepEqual(begun?.events, ["preemption"]);
  assert.deepEqual([begun?.cause, begun?.because], ["provider", "AWS: stop"]);
  assert.equal(begun?.deadlineAt, now + 120_000);
});

test("a notice that turned out false is not taken again, but the next one is", (t) => {
  const { world } = aWorld(t);
  takeNotice(world, "aws", aNotice());
  cancelLifecycle(world, findOpenLifecycle(world)?.id ?? "");
  takeNotice(world, "aws", aNotice());
  assert.equal(findOpenLifecycle(world), undefined);

  takeNotice(world, "aws", aNotice({ id: "2" }));
  cancelLifecycle(world, findOpenLifecycle(world)?.id ?? "");
  takeNotice(world, "aws", undefined);
  takeNotice(world, "aws", aNotice({ id: "2" }));
  assert.equal(listLifecycles(world).length, 3);
});

test("two sources hasten one preemption", (t) => {
  const { world } = aWorld(t);
  takeNotice(world, "azure", aNotice({ deadlineAt: now + 300_000 }));
  takeNotice(world, "file", aNotice({ deadlineAt: now + 60_000 }));
  takeNotice(world, "azure", aNotice({ id: "started", deadlineAt: now }));

  assert.equal(listLifecycles(world).length, 1);
  assert.equal(findOpenLifecycle(world)?.deadline?.at, now + 10_000);
});

test("a notice file says why and until when, or nothing at all", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "notice-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "notice");
  const read = (text: string) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
    return readNoticeFile(path, now);
  };
  const because = `the file ${path} says so`;
  assert.equal(readNoticeFile(path, now), undefined);
  const before = read("");

  for (const text of ["", "gone soon", "[1]", '{"seconds": "soon"}', '{"seconds": -1}', "null"]) {
    const notice = read(text);
    assert.deepEqual([notice?.because, notice?.deadlineAt], [because, null], text);
  }
  assert.equal(read('{"seconds": 1.5}')?.deadlineAt, now + 1_500);
  assert.equal(read('{"deadlineAt": 17}')?.deadlineAt, 17);
  assert.equal(read('{"because": "rack 3 is cleaned"}')?.because, "rack 3 is cleaned");
  assert.notEqual(readNoticeFile(path, now)?.id, before?.id);
  rmSync(path);
  mkdirSync(path);
  assert.equal(readNoticeFile(path, now)?.because, because);
  symlinkSync("circle", join(folder, "circle"));
  assert.throws(() => readNoticeFile(join(folder, "circle"), now), { code: "ELOOP" });
});

test("the firmware tells which cloud a machine is of", () => {
  const nothing = { vendor: "", product: "", bios: "", chassis: "" };
  const machines = [
    ["aws", { vendor: "Amazon EC2", product: "m5.large" }],
    ["aws", { vendor: "Xen", bios: "4.11.amazon" }],
    ["gcp", { vendor: "Google", product: "Google Compute Engine" }],
    ["none", { vendor: "Google", product: "Eve" }],
    ["azure", { vendor: "Microsoft Corporation", chassis: "7783-7084-3265-9085-8269-3286-77" }],
    ["none", { vendor: "Microsoft Corporation", product: "Virtual Machine" }],
    ["none", {}],
  ] as const;
  for (const [cloud, dmi] of machines) assert.equal(cloudOf({ ...nothing, ...dmi }), cloud);
});
