import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { whyNoHosts } from "../helpers/ssh-hosts.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();

test("the files of a task reach hosts over SSH, and come back", {
  skip,
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t, [{ node: true }, { node: true }]);
  const { control, hosts } = lab;
  const project = join(control.home, "project");
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src/big"), Buffer.alloc(8 * 2 ** 20, "x"));
  for (let at = 0; at < 100; at += 1) writeFileSync(join(project, `src/${at}`), `${at}\n`);
  const task = {
    num_nodes: 2,
    workdir: "project",
    file_mounts: { "~/mounted/one": "project/src/1" },
    resources: { infra: "ssh/lab" },
    run: "cat src/99 ~/mounted/one; touch ~/mounted/theirs; stat -c %s src/big",
  };
  writeFileSync(join(control.home, "task.yaml"), JSON.stringify(task));
  assert.equal((await lab.run("deploy")).error, null);

  const first = await control.cli("launch", "-c", "pair", "task.yaml");

  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /workdir: 101 of 101 files changed, 8\.4 MB \(on each of 2 nodes\)/);
  assert.equal(first.stdout.match(/ 99$|rank=\d\) 1$|8388608$/gm)?.length, 6, first.stdout);

  writeFileSync(join(project, "src/99"), "changed\n");
  rmSync(join(project, "src/0"));
  const second = await control.cli("exec", "pair", "--workdir", "project", "cat src/99");

  assert.equal(second.code, 0, second.stderr);
  assert.match(second.stderr, /1 of 100 files changed, 8 bytes, 1 removed \(on each of 2 nodes\)/);
  for (const { disk } of hosts) {
    const folder = join(disk, "home/ana/outrigger_workdir/src");
    assert.equal(readFileSync(join(folder, "99"), "utf8"), "changed\n");
    assert.equal(readdirSync(folder).length, 100);
  }
  const back = await control.cli("download", "pair:src", "back", "--rank", "1");
  assert.equal(back.code, 0, back.stderr);
  assert.match(back.stderr, /Fetching 100 of 100 files, 8\.4 MB/);
  for (const name of readdirSync(join(project, "src"))) {
    const [came, sent] = ["back", "project/src"].map((at) =>
      readFileSync(join(control.home, at, name)),
    );
    assert.ok(sent && came?.equals(sent), name);
  }
  assert.equal((await control.cli("down", "-y", "pair")).code, 0);
  for (const { disk } of hosts) {
    assert.ok(!existsSync(join(disk, "home/ana/outrigger_workdir")));
    assert.deepEqual(readdirSync(join(disk, "home/ana/mounted")), ["theirs"]);
  }
});
