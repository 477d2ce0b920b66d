import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { errorCodeOf } from "../../common/errors.ts";
import { until } from "../helpers/agent.ts";
import { startControl, type TestControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

const skip = process.getuid?.() !== 0 && "mounting a file system needs root";

/** Puts what control keeps on a small file system of its own, then runs some work; control runs before and after. */
async function onSmallDisk(control: TestControl, work: (folder: string) => Promise<void>) {
  const folder = join(control.home, "control");
  const aside = join(control.home, "aside");
  await control.end("SIGTERM");
  cpSync(folder, aside, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", folder]);
  try {
    cpSync(aside, folder, { recursive: true });
    await control.start();
    await work(folder);
  } finally {
    execFileSync("umount", ["--lazy", folder]);
  }
}

/** Takes all the room of a file system; gives it back when called. */
function fill(folder: string): () => void {
  const file = join(mkdtempSync(join(folder, "filler-")), "filler");
  const size = 4_096;
  try {
    for (;;) writeFileSync(file, Buffer.alloc(size), { flag: "a" });
  } catch (error) {
    assert.equal(errorCodeOf(error), "ENOSPC");
  }
  assert.equal(statfsSync(folder).bavail, 0);
  return () => rmSync(file);
}

test("with a full disk reads go on, a launch is refused by its name, and all goes on with room", {
  skip,
}, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "c");
  await cluster.launch(aTask("echo hello"));
  await cluster.untilJob(1, "SUCCEEDED");

  await onSmallDisk(control, async (folder) => {
    await cluster.untilStatus("UP");
    const giveRoom = fill(folder);

    await assertReads(control);
    const refused = await control.cli("launch", "-y", "-c", "d", "echo two");
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /the disk of control is full/);

    giveRoom();
    const { code, stderr } = await control.cli("launch", "-y", "-c", "d", "echo two");
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      [await cluster.jobStatus(1), await clusterOf(control, "d").jobStatus(1)],
      ["SUCCEEDED", "SUCCEEDED"],
    );
  });
});

test("control starts on a full disk with the room that it kept, and reads go on", {
  skip,
}, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "c");
  await cluster.launch(aTask("echo hello"));
  await cluster.untilJob(1, "SUCCEEDED");

  await onSmallDisk(control, async (folder) => {
    const reserve = join(folder, "state.db.reserve");
    await until(() => existsSync(reserve) || undefined);
    await control.end("SIGTERM");
    const giveRoom = fill(folder);

    await control.start();
    await cluster.untilStatus("UP");
    await assertReads(control);
    const fillAgain = fill(folder);
    await assertReads(control);
    const refused = await control.cli("launch", "-y", "-c", "d", "echo two");
    assert.match(refused.stderr, /the disk of control is full/);

    for (const give of [giveRoom, fillAgain]) give();
    const { code, stderr } = await control.cli("launch", "-y", "-c", "d", "echo two");
    assert.equal(code, 0, stderr);
  });
});

test("control without that room does not start on a full disk, and names it", {
  skip,
}, async (t) => {
  const control = await startControl(t);

  await onSmallDisk(control, async (folder) => {
    await control.end("SIGTERM");
    rmSync(join(folder, "state.db.reserve"), { force: true });
    const giveRoom = fill(folder);

    const { code, stderr } = await control.cli("api", "start");
    assert.notEqual(code, 0);
    assert.match(stderr, /the disk of .*\/control is full: control cannot start; make room on it/);

    giveRoom();
    await control.start();
  });
});

async function assertReads({ cli }: TestControl): Promise<void> {
  for (const [words, answer] of [
    [["status", "-u"], /^c\b.*\bUP\b/m],
    [["queue", "-u", "c"], /SUCCEEDED/],
    [["logs", "c", "1"], /hello/],
  ] as const) {
    const { code, stdout, stderr } = await cli(...words);
    assert.match(stdout, answer, stderr);
    assert.equal(code, 0, stderr);
  }
}
