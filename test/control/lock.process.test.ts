import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { lockHome } from "../../control/lock.ts";

function aHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "lock-"));
  t.after(() => rmSync(home, { recursive: true }));
  return home;
}

test("a home is one process's until it is given back", (t) => {
  const home = aHome(t);

  const lock = lockHome(home);
  lock.tell({ host: "127.0.0.1", port: 80 });
  const { pid, host, port } = JSON.parse(readFileSync(join(home, "control.pid"), "utf8"));
  assert.deepEqual({ pid, host, port }, { pid: process.pid, host: "127.0.0.1", port: 80 });
  lock.release();

  assert.ok(!existsSync(join(home, "control.pid")));
});

test("a home that a living process has is refused; a dead one's is taken", async (t) => {
  const home = aHome(t);
  const other = startHolder(t, home);
  assert.equal(await firstWord(other), "got");

  assert.throws(() => lockHome(home), {
    name: "ConflictError",
    message: `a control plane with pid ${other.pid} already serves ${home}`,
  });
  await ended(other);

  lockHome(home).release();
});

test("whatever the file of the last owner says, a free home is free", (t) => {
  const home = aHome(t);
  for (const text of ["", "{", "null", JSON.stringify({ pid: process.ppid, startTicks: 0 })]) {
    writeFileSync(join(home, "control.pid"), text);
    lockHome(home).release();
  }
});

test("a lock that fails for another reason is no other control plane", (t) => {
  const home = aHome(t);
  writeFileSync(join(home, "control.lock"), "no database".repeat(100));

  assert.throws(() => lockHome(home), {
    name: "RuntimeError",
    message: /control\.lock cannot be locked: file is not a database/,
  });
});

test("of many who start at once one gets the home", async (t) => {
  const home = aHome(t);
  const others = Array.from({ length: 4 }, () => startHolder(t, home));

  const said = await Promise.all(others.map(firstWord));

  assert.deepEqual(said.toSorted(), ["ConflictError", "ConflictError", "ConflictError", "got"]);
});

/** A process that takes the home, says whether it did, and keeps it. */
function startHolder(t: TestContext, home: string) {
  const script = `
    import { lockHome } from ${JSON.stringify(join(import.meta.dirname, "../../control/lock.ts"))};
    try { lockHome(process.argv[1]); process.stdout.write("got"); setInterval(() => {}, 1e6); }
    catch (error) { process.stdout.write(error.name); }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, home], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => ended(child));
  return child;
}

const firstWord = async ({ stdout }: { stdout: Readable }) =>
  String((await once(stdout, "data"))[0]);

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}
