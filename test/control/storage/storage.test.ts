import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { storageOperations as rows } from "../../../contract/operations/storage.ts";
import { workspaceOperations as workspaces } from "../../../contract/operations/workspaces.ts";
import { listFolders } from "../../../control/buckets/folder.ts";
import { readParcel } from "../../../control/clusters/files/cargo.ts";
import { listParcels } from "../../../control/clusters/files/store.ts";
import { collect } from "../../../control/collector.ts";
import type { Agent } from "../../../control/doors/agent.ts";
import { addStorage } from "../../../control/storage/store.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { jobBed } from "../jobs/bed.ts";
import { aStorage, launch, withFiles } from "./rows.ts";

const { signal } = new AbortController();

/** What the nodes of the cluster get: the texts of files by their paths. */
async function brought({ ctx, cluster }: World): Promise<Record<string, string>> {
  const { id } = await cluster("c");
  const [parcel] = await listParcels(ctx.db, ctx.seal, id);
  const cargo = await readParcel(ctx, parcel ?? assert.fail("nothing was brought"), signal);
  assert.ok("open" in cargo);
  const { entries, contents } = await cargo.open({} as Agent, signal);
  const textOf = (entry: Parameters<Extract<typeof contents, { by: "control" }>["fileOf"]>[0]) =>
    contents.by === "control" ? readFileSync(contents.fileOf(entry), "utf8") : "";
  return Object.fromEntries(
    entries.flatMap((entry) => (entry.kind === "file" ? [[entry.path, textOf(entry)]] : [])),
  );
}

test("a bucket keeps what tasks put into it, for tasks that only name it", async (t) => {
  const world = await testWorld(t);
  await launch(world, { "d/a": "1", "d/sub/b": "2", "e/f": "3" }, { source: "/d" });
  assert.deepEqual(await brought(world), { a: "1", "sub/b": "2" });
  await launch(world, { "d/a": "new", "e/f": "3" }, { source: ["/d", "/e/f"] });

  await launch(world, { "x/y": "" }, {});

  const all = { a: "1", "sub/b": "2", "d/a": "new", f: "3" };
  assert.deepEqual(await brought(world), all);
  const [storage, ...others] = await world.run(rows.list, {});
  assert.deepEqual(
    [storage?.name, storage?.status, storage?.store],
    ["my-set", "READY", ["VOLUME"]],
  );
  assert.equal(others.length, 0);
  const again = await world.crash();
  assert.deepEqual(await brought(again), all);
});

test("a bucket is deleted with all that is in it, and a task that names it is told so", async (t) => {
  const world = await testWorld(t);
  await launch(world, { "d/a": "1", "e/f": "" }, { source: "/d" });

  await world.run(rows.delete, { name: "my-set" });

  assert.deepEqual(await world.run(rows.list, {}), []);
  assert.deepEqual(await listFolders(world.ctx.config.home), []);
  await assert.rejects(launch(world, { "e/f": "" }, {}), {
    type: "NotFoundError",
    message: "~/set: there is no storage my-set; list them with: outrigger storage ls",
  });
});

test("a bucket that is not persistent goes with its cluster", async (t) => {
  const world = await testWorld(t);
  await launch(world, { "d/a": "1", "e/f": "" }, { source: "/d", persistent: false });
  await collect(world.ctx);
  assert.equal((await world.run(rows.list, {})).length, 1);

  await world.run(clusters.down, { cluster_name: "c" });
  await collect(world.ctx);

  assert.deepEqual(await world.run(rows.list, {}), []);
  assert.deepEqual(await listFolders(world.ctx.config.home), []);
});

test("a bucket that was there before stays, whatever later tasks say of it", async (t) => {
  const world = await testWorld(t);
  await launch(world, { "d/a": "1", "e/f": "" }, { source: "/d" });
  await launch(world, { "e/f": "" }, { persistent: false });

  await world.run(clusters.down, { cluster_name: "c" });
  await collect(world.ctx);

  assert.equal((await world.run(rows.list, {})).length, 1);
});

test("a workspace is not deleted while it has a bucket", async (t) => {
  const world = await testWorld(t);
  await world.run(workspaces.create, { workspace_name: "team", config: {} });
  await world.ctx.batch((tx) => addStorage(tx, aStorage({ name: "set", workspace: "team" })));

  await assert.rejects(world.run(workspaces.delete, { workspace_name: "team" }), {
    message: "workspace team cannot be deleted while it is in use: storages set (ana)",
  });
});

test("the name of a bucket in a workspace of others is taken", async (t) => {
  const world = await testWorld(t);
  await world.ctx.batch((tx) => addStorage(tx, aStorage({ name: "theirs", workspace: "team" })));
  const ben = await world.as("ben");
  const task = "file_mounts: { ~/x: { name: theirs, mode: COPY } }";

  await assert.rejects(ben.run(clusters.launch, { cluster_name: "c", task }), {
    type: "NotFoundError",
  });
  assert.deepEqual(await ben.run(rows.list, {}), []);
});

test("a managed job ends with the reason where its bucket is one of others", async (t) => {
  const bed = await jobBed(t);
  const { world } = bed;
  await world.ctx.batch((tx) => addStorage(tx, aStorage({ name: "my-set", workspace: "team" })));

  await world.run(jobs.launch, {
    name: "j",
    ...(await withFiles(world, { "d/a": "", "e/f": "" }, { source: "/d" })),
  });

  const { status, reason } = await bed.untilSettled(1);
  assert.equal(status, "FAILED_PRECHECKS");
  assert.match(reason, /^its task cannot be submitted: the name my-set is taken by a storage/);
});
