import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { volumeOperations as rows } from "../../../contract/operations/volumes.ts";
import { addVolume } from "../../../control/volumes/store.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { aVolume } from "./rows.ts";

const folder = { volume_type: "folder", cloud: "local" };
const list = (world: World) => world.run(rows.list, { refresh: "false" });

function aFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "volume-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("a folder is not deleted while something is mounted in it", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.apply, { name: "data", ...folder });
  const path = (await list(world))[0]?.name_on_cloud ?? "";
  const theirs = aFolder(t);
  writeFileSync(join(theirs, "x"), "");
  const mounted = join(path, "a mount");
  mkdirSync(mounted);
  if (spawnSync("mount", ["--bind", theirs, mounted]).status !== 0) return t.skip("cannot mount");
  t.after(() => spawnSync("umount", ["-l", mounted]));
  const remove = () => world.run(rows.delete, { names: ["data"] });

  await assert.rejects(remove, {
    type: "ConflictError",
    message: `something is mounted in ${path}; unmount it first`,
  });
  assert.ok(existsSync(join(theirs, "x")));
  spawnSync("umount", [mounted]);
  await remove();

  assert.ok(!existsSync(path));
});

test("a volume whose folder cannot be deleted says so, and can be forgotten", async (t) => {
  const world = await testWorld(t);
  const path = join(aFolder(t), "x".repeat(300));
  await world.ctx.batch((tx) => addVolume(tx, aVolume({ path })));
  const remove = (purge: boolean) => world.run(rows.delete, { names: ["data"], purge });

  for (const _ of ["once", "again"])
    await assert.rejects(remove(false), { type: "StorageError", message: /ENAMETOOLONG/ });
  assert.match((await list(world))[0]?.error_message ?? "", /cannot be deleted: ENAMETOOLONG/);
  await remove(true);

  assert.deepEqual(await list(world), []);
});

test("of two deletions at once one deletes, and the other finds nothing left", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.apply, { name: "data", ...folder });
  const remove = () => world.run(rows.delete, { names: ["data"] });

  const results = await Promise.allSettled([remove(), remove()]);

  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const refused = results.find((one) => one.status === "rejected");
  assert.equal(refused?.reason.type, "VolumeNotFoundError");
  assert.deepEqual(await list(world), []);
});
