import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { endTree } from "../../common/end-processes.ts";
import { findProcess, findTree, isAlive } from "../../common/process-tree.ts";
import { until } from "../helpers/agent.ts";
import { findUnified } from "../systemd/machine.ts";

const unified = process.getuid?.() === 0 ? findUnified() : undefined;
const skip = unified === undefined ? "needs root and control groups v2" : false;

/** Runs a fixture in a new control group until it has written a pid; that process and the group. */
async function startInGroup(t: TestContext, fixture: string, below = "") {
  const folder = mkdtempSync(join(tmpdir(), "group-"));
  const group = join(unified ?? "", basename(folder));
  mkdirSync(join(group, below), { recursive: true });
  t.after(async () => {
    await endTree({ roots: [], mark: "TREE=none", groups: [group] }, 0);
    rmSync(folder, { recursive: true });
  });
  const ready = join(folder, "ready");
  const script = 'echo $$ > "$1/cgroup.procs"; exec "$2" "$3"';
  const file = join(import.meta.dirname, "../fixtures", fixture);
  spawn("sh", ["-c", script, "sh", join(group, below), file, ready], { stdio: "ignore" });
  await until(() => existsSync(ready) || undefined);
  const pid = Number(readFileSync(ready, "utf8"));
  return { group, found: findProcess(pid) ?? assert.fail(`there is no ${pid}`) };
}

test("what hides from session, parent and environment is in its control group", {
  skip,
}, async (t) => {
  const { group, found } = await startInGroup(t, "hides");
  const tree = { roots: [], mark: "TREE=none" };

  assert.deepEqual(findTree(tree), []);
  const pids = () => findTree({ ...tree, groups: [group] }).map(({ pid }) => pid);
  assert.ok(pids().includes(found.pid));
  // Whoever started it is about to end.
  await until(() => pids().length === 1 || undefined);
  assert.deepEqual(pids(), [found.pid]);
});

for (const below of ["", "one/two"])
  test(`the end of a tree is the end of its control group ${below}`, { skip }, async (t) => {
    const { group, found } = await startInGroup(t, "hides", below);

    const left = await endTree({ roots: [], mark: "TREE=none", groups: [group] }, 20);

    assert.deepEqual(left, []);
    assert.equal(isAlive(found), false);
    assert.equal(existsSync(group), false);
  });

test("a control group that is not there is empty", async () => {
  const group = join(tmpdir(), "no-such-group");

  assert.deepEqual(await endTree({ roots: [], mark: "TREE=none", groups: [group] }, 0), []);
});
