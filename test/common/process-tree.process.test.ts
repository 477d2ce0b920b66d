import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { endTree } from "../../common/end-processes.ts";
import {
  findProcess,
  findTree,
  isAlive,
  listTerminals,
  type ProcessStat,
} from "../../common/process-tree.ts";
import { until } from "../helpers/agent.ts";
import { asNobody, canBeNobody, nobody } from "../helpers/nobody.ts";

const folder = mkdtempSync(join(tmpdir(), "tree-"));
after(async () => {
  await endTree({ roots: [], mark: `TREE=${folder}` }, 0);
  rmSync(folder, { recursive: true });
});

/** Starts a fixture in a session of its own and waits until it is ready. */
async function startFixture(name: string) {
  const ready = join(folder, `${name}.ready`);
  const file = join(import.meta.dirname, "../fixtures", name);
  const child = spawn(file, [ready], {
    detached: true,
    stdio: "ignore",
    env: { PATH: process.env["PATH"], TREE: folder },
  });
  await until(() => existsSync(ready) || undefined);
  const root = findProcess(child.pid ?? 0) ?? { pid: child.pid ?? 0, startTicks: 0 };
  return { ready, tree: { roots: [root], mark: `TREE=${folder}` } };
}

test("a tree that heeds TERM ends long before its grace is over", async () => {
  const child = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
  const root = findProcess(child.pid ?? 0);
  assert.ok(root);
  const before = performance.now();
  await endTree({ roots: [root], mark: "TREE=none" }, 60_000);

  assert.equal(isAlive(root), false);
  assert.ok(performance.now() - before < 30_000);
});

for (const name of ["ignores-term", "respawns"])
  test(`of a tree that ${name} nothing is left once its grace is over`, async () => {
    const { tree } = await startFixture(name);
    await until(() => findTree(tree).length >= 2 || undefined);
    await endTree(tree, 30);

    assert.deepEqual(findTree(tree), []);
  });

test("a process that left session, group and parent is found by its mark", async () => {
  const { ready, tree } = await startFixture("detaches");
  const pid = Number(readFileSync(ready, "utf8"));
  assert.ok(findTree(tree).some((member) => member.pid === pid));
  await endTree(tree, 1_000);

  assert.notEqual(findProcess(pid)?.alive, true);
});

test("a root whose pid was given to another process is not ours", () => {
  const self = findProcess(process.ppid);
  assert.ok(self);
  const root = { pid: self.pid, startTicks: self.startTicks - 1 };

  assert.equal(isAlive(root), false);
  assert.deepEqual(findTree({ roots: [root], mark: "TREE=none" }), []);
});

test("what another user runs is left and named, and the rest is ended", async (t) => {
  if (!canBeNobody) return t.skip("only root can start processes of two users");
  const script = `setpriv --reuid=${nobody} --clear-groups sleep 1000 & sleep 1000`;
  const child = spawn("sh", ["-c", script], { detached: true, stdio: "ignore" });
  const root = findProcess(child.pid ?? 0);
  assert.ok(root);
  const tree = { roots: [root], mark: "TREE=none" };
  t.after(() => endTree(tree, 0));
  const uids = () => findTree(tree).map(({ pid }) => statSync(`/proc/${pid}`).uid);
  await until(() => (uids().length === 3 && uids().includes(nobody)) || undefined);

  const exports = { "describeSurvivors, endTree": "common/end-processes.ts" };
  const left = await asNobody(
    exports,
    `const left = await endTree(${JSON.stringify(tree)}, 20);
    return { left, said: describeSurvivors(left) };`,
  );

  assert.deepEqual(uids(), [0, 0]);
  const survivors = findTree(tree).map((one) => ({ ...one, isForeign: true }));
  const said = survivors.map(
    ({ pid, name }) => `process ${pid} (${name}) belongs to root and was left`,
  );
  assert.deepEqual(left, { left: survivors, said: said.join("; ") });
});

test("who stops waiting for the end of a tree is let go", async () => {
  const { tree } = await startFixture("ignores-term");
  const over = new AbortController();
  const ending = endTree(tree, 60_000, over.signal);
  over.abort();

  await assert.rejects(ending, { name: "AbortError" });
  await endTree(tree, 0);
});

test("a terminal counts when it hangs under an SSH server", () => {
  const row = (pid: number, parent: number, name: string, terminal: number): ProcessStat => ({
    pid,
    parent,
    name,
    terminal,
    group: pid,
    session: pid,
    startTicks: 1,
    alive: true,
  });
  const server = row(1, 0, "sshd", 0);
  const session = row(2, 1, "sshd-session", 0);
  const shell = row(3, 2, "bash", 34816);
  const login = row(4, 0, "bash", 1025);
  const copy = row(5, 2, "sftp-server", 0);

  const found = listTerminals([server, session, shell, login, copy]);
  assert.deepEqual(found, [shell]);
});
