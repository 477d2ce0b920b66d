import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { dropNote, isInUse, noteContainer } from "../../../agent/containers/use.ts";
import { folderOf, hookFolderOf, hookScript } from "../../../agent/folders.ts";
import { addPart, setPart } from "../../../agent/jobs/part-store.ts";
import { beginLifecycle, getRow, writeLifecycle } from "../../../agent/lifecycles/lifecycles.ts";
import { aWorld } from "../world.ts";

const id = "c0ffee";

test("a container is in use from before a job begins in it until the job has ended, also for the next agent", (t) => {
  const { world, openNext } = aWorld(t);
  const script = { folder: folderOf(world, 1), name: "run" };
  mkdirSync(script.folder, { recursive: true });
  const demand = { cpus: 1, accelerators: 0, gpus: [] };
  addPart(world.journal, {
    ...{ jobId: 1, rank: 0, wanted: "run", status: "RUNNING", exitCode: null },
    ...demand,
  });
  assert.equal(isInUse(world, id), false, "it has not come to its container yet");

  noteContainer(script, id, 0, "/sys/fs/cgroup/one");
  assert.equal(isInUse(world, id), true);
  assert.equal(isInUse(openNext(), id), true);
  assert.equal(isInUse(world, "another"), false);

  dropNote(script);
  assert.equal(isInUse(world, id), false);
  noteContainer(script, id);
  setPart(world.journal, 1, 0, { status: "ENDED" });
  assert.equal(isInUse(world, id), false);
});

test("a container is in use while a shell is open", (t) => {
  const { world } = aWorld(t);
  world.shells.add("one");
  assert.equal(isInUse(world, id), true);
});

test("a container is in use while a hook runs in it", (t) => {
  const { world } = aWorld(t);
  const lifecycle = { id: "one", event: "stop", cause: "user", because: "stop" } as const;
  beginLifecycle(world, { ...lifecycle, deadlineAt: null, skipHooks: false });
  const script = { folder: hookFolderOf(world, "one", 0), name: hookScript };
  mkdirSync(script.folder, { recursive: true });
  noteContainer(script, id);
  const run = {
    ...({ index: 0, event: "stop", exitCode: null, reason: null, timeoutSeconds: 60 } as const),
    ...{ startedAt: 0, endedAt: null, startedMs: 0, ending: null, logFrom: 0 },
  };
  const row = getRow(world, "one");
  writeLifecycle(world, { ...row, runs: [{ ...run, status: "RUNNING" }] });
  assert.equal(isInUse(world, id), true);

  writeLifecycle(world, { ...row, runs: [{ ...run, status: "SUCCEEDED" }] });
  assert.equal(isInUse(world, id), false);
});
