import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { volumeOperations as volumes } from "../../contract/operations/volumes.ts";
import { whyNoHosts } from "../helpers/ssh-hosts.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();

test("a volume on a host keeps its tasks on that host, and goes when it is deleted", {
  skip,
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t, [{ node: true }, { node: true }]);
  const { control, hosts } = lab;
  const second = hosts[1] ?? assert.fail();
  const ana = join(second.disk, "home/ana");
  const write = (name: string, fields: object) =>
    writeFileSync(join(control.home, name), JSON.stringify(fields));
  assert.equal((await lab.run("deploy")).error, null);
  const infra = `ssh/lab/${second.address}`;
  write("data.yaml", { name: "data", type: "folder", infra });
  write("task.yaml", { volumes: { "~/data": "data" }, run: "date >> ~/data/runs" });

  const applied = await control.cli("volumes", "apply", "data.yaml");
  assert.equal(applied.code, 0, applied.stderr);
  for (const cluster of ["one", "two"]) {
    const launched = await control.cli("launch", "-y", "-c", cluster, "task.yaml");
    assert.equal(launched.code, 0, launched.stderr);
    assert.equal((await control.cli("down", "-y", cluster)).code, 0);
  }

  const [volume] = await control.client.callAndGet(volumes.list, {});
  const folder = join(second.disk, volume?.name_on_cloud ?? "");
  assert.equal(readFileSync(join(folder, "runs"), "utf8").trim().split("\n").length, 2);
  assert.ok(!existsSync(join(ana, "data")));
  mkdirSync(join(ana, "mine"));
  write("mine.yaml", {
    ...{ name: "mine", type: "folder", infra, use_existing: true },
    config: { host_path: "/home/ana/mine" },
  });
  assert.equal((await control.cli("volumes", "apply", "mine.yaml")).code, 0);
  const deleted = await control.cli("volumes", "delete", "-y", "data", "mine");
  assert.equal(deleted.code, 0, deleted.stderr);
  assert.ok(!existsSync(folder));
  assert.ok(existsSync(join(ana, "mine")));
});
