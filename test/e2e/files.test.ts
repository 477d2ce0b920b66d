import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { listNodeHomes, startControl } from "../helpers/programs.ts";

const examples = join(import.meta.dirname, "../../examples");

test("the example with files runs", async (t) => {
  const control = await startControl(t);
  cpSync(examples, join(control.home, "examples"), { recursive: true });

  const { code, stdout, stderr } = await control.cli("launch", "-c", "f", "examples/files.yaml");

  assert.equal(code, 0, stderr);
  for (const rank of [0, 1])
    assert.match(stdout, new RegExp(`Hello from rank ${rank}: 5 lines in 2 files`));
});

test("the files of a task reach its nodes, and only what changed goes again", async (t) => {
  const control = await startControl(t);
  const project = join(control.home, "project");
  const write = (name: string, text: string) => writeFileSync(join(project, name), text);
  mkdirSync(join(project, "data"), { recursive: true });
  write("train.sh", "cat data/*.txt ~/mounted/x\n");
  write("data/a.txt", "a one\n");
  write("data/b.txt", "b one\n");
  write(".gitignore", "*.log\n");
  write("old.log", "left out");
  const task = {
    num_nodes: 2,
    workdir: "project",
    file_mounts: { "~/mounted/x": "project/data/a.txt" },
    run: "bash train.sh",
  };
  writeFileSync(join(control.home, "task.yaml"), JSON.stringify(task));

  const first = await control.cli("launch", "-c", "dev", "task.yaml");

  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /Sending 4 files, 45 bytes/);
  assert.match(first.stderr, /^workdir: 4 of 4 files changed, 45 bytes \(on each of 2 nodes\)$/m);
  assert.match(first.stderr, /^~\/mounted\/x: 1 of 1 file changed, 6 bytes/m);
  for (const rank of [0, 1]) {
    const said = first.stdout.split("\n").filter((line) => line.includes(`rank=${rank}) `));
    const ends = said.map((line) => line.replace(/^.*\) /, ""));
    assert.deepEqual(ends, ["a one", "b one", "a one"], first.stdout);
  }
  const [head = "", worker = ""] = listNodeHomes(control.home);
  assert.deepEqual(readdirSync(join(worker, "outrigger_workdir")).toSorted(), [
    ".gitignore",
    "data",
    "train.sh",
  ]);

  write("data/b.txt", "b two\n");
  rmSync(join(project, "data/a.txt"));
  writeFileSync(join(head, "outrigger_workdir/result"), "by the job");
  const second = await control.cli("exec", "dev", "--workdir", "project", "cat data/*; ls");

  assert.equal(second.code, 0, second.stderr);
  assert.match(second.stderr, /1 of 3 files changed, 6 bytes, 1 removed/);
  assert.match(second.stdout, /^b two\ndata\nresult\ntrain\.sh\n$/m);
  assert.equal(readFileSync(join(head, "outrigger_workdir/result"), "utf8"), "by the job");

  const third = await control.cli("exec", "dev", "--workdir", "project", "true");
  assert.doesNotMatch(third.stderr, /Sending/);
  assert.match(third.stderr, /3 files, none changed/);
});
