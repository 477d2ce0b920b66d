import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { taskOperations } from "../../../contract/operations/tasks.ts";
import { volumeOperations as rows } from "../../../contract/operations/volumes.ts";
import { workspaceOperations as workspaces } from "../../../contract/operations/workspaces.ts";
import { addVolume, deleteVolume, findVolume, setVolume } from "../../../control/volumes/store.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { aVolume } from "./rows.ts";

const folder = { volume_type: "folder", cloud: "local" };
const nfs = { volume_type: "nfs", cloud: "", config: { server: "nas", path: "/export" } };

/** A control plane whose machines are all on this one. */
async function openWorld(t: TestContext): Promise<World> {
  const world = await testWorld(t);
  const { offer } = world.provider;
  assert.ok(offer);
  world.provider.offer = { ...offer, infra: "local" };
  return world;
}

function aFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "volume-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const taskOf = (volumes: object, more: object = {}) => JSON.stringify({ volumes, ...more });
const launch = (world: World, task: string, name = "c") =>
  world.run(clusters.launch, { cluster_name: name, task });
const list = (world: World, refresh = false) => world.run(rows.list, { refresh: String(refresh) });
const attached = async ({ cluster, provider }: World, rank = 0) =>
  provider.agentOf((await cluster("c")).id, rank).node.attached;

test("a volume is made, attached to every node, kept while the cluster is stopped, and deleted at last", async (t) => {
  const world = await openWorld(t);
  await world.run(rows.apply, { name: "data", ...folder });
  const [made] = await list(world);
  const path = made?.name_on_cloud ?? "";
  assert.deepEqual([made?.status, made?.cloud, made?.usedby_clusters], ["READY", "local", []]);
  writeFileSync(join(path, "kept"), "x");

  await launch(world, taskOf({ "~/data": { name: "data", sub_path: "runs" } }, { num_nodes: 2 }));
  const source = { kind: "folder", path };
  for (const rank of [0, 1])
    assert.deepEqual(await attached(world, rank), [["~/data", source, "runs"]]);
  const [used] = await list(world);
  assert.deepEqual([used?.status, used?.usedby_clusters], ["IN_USE", ["c"]]);
  assert.ok(used?.last_attached_at);
  await world.run(clusters.stop, { cluster_name: "c" });
  await assert.rejects(world.run(rows.delete, { names: ["data"] }), {
    type: "ConflictError",
    message: "volume data is in use by c; take them down first",
  });
  await world.run(clusters.down, { cluster_name: "c" });

  assert.equal(readFileSync(join(path, "kept"), "utf8"), "x");
  await world.run(rows.delete, { names: ["data"] });
  assert.ok(!existsSync(path));
  assert.deepEqual(await list(world), []);
});

test("a node that is made anew has the volumes of its cluster", async (t) => {
  const world = await openWorld(t);
  await world.run(rows.apply, { name: "data", ...nfs });
  await launch(world, taskOf({ "/mnt/data": "data" }));
  const { id } = await world.cluster("c");

  await world.provider.lose(id, 0);
  await world.look("c");
  await world.untilStatus("c", "UP");

  const source = { kind: "nfs", server: "nas", path: "/export", options: "" };
  assert.deepEqual(await attached(world), [["/mnt/data", source, ""]]);
});

test("a folder that was there before is used as it is, and stays", async (t) => {
  const world = await openWorld(t);
  const path = aFolder(t);
  writeFileSync(join(path, "mine"), "x");
  const config = { host_path: path };
  await assert.rejects(world.run(rows.apply, { name: "data", ...folder, config }), {
    type: "ConflictError",
    message: `${path} is not empty; register it as it is with use_existing: true`,
  });
  assert.deepEqual(await list(world), []);

  await world.run(rows.apply, { name: "data", ...folder, config, use_existing: true });
  await world.run(rows.delete, { names: ["data"] });

  assert.equal(readFileSync(join(path, "mine"), "utf8"), "x");
});

test("a folder at a path of the user's goes only where that was asked for", async (t) => {
  const world = await openWorld(t);
  const [stays, goes] = [join(aFolder(t), "stays"), join(aFolder(t), "goes")];
  await world.run(rows.apply, { name: "a", ...folder, config: { host_path: stays } });
  const config = { host_path: goes, cleanup_on_deletion: true };
  await world.run(rows.apply, { name: "b", ...folder, config });

  await world.run(rows.delete, { names: ["a", "b"] });

  assert.deepEqual([existsSync(stays), existsSync(goes)], [true, false]);
});

test("a volume whose folder is gone is not ready, until it is back", async (t) => {
  const world = await openWorld(t);
  const path = join(aFolder(t), "data");
  mkdirSync(path);
  const given = { ...folder, config: { host_path: path }, use_existing: true };
  await world.run(rows.apply, { name: "data", ...given });
  rmSync(path, { recursive: true });
  assert.equal((await list(world))[0]?.status, "READY");

  const [gone] = await list(world, true);

  const why = `there is no folder ${path} on local`;
  assert.deepEqual([gone?.status, gone?.error_message], ["NOT_READY", why]);
  await assert.rejects(launch(world, taskOf({ "~/data": "data" })), {
    type: "VolumeNotReadyError",
    message: `volume data is not ready: ${why}`,
  });
  mkdirSync(path);
  assert.equal((await list(world, true))[0]?.status, "READY");
});

test("a volume that is applied again stays as it is, and takes no other settings", async (t) => {
  const world = await openWorld(t);
  await world.run(rows.apply, { name: "data", ...folder });
  const before = await list(world);

  await world.run(rows.apply, { name: "data", ...folder });
  await assert.rejects(world.run(rows.apply, { name: "data", ...nfs }), {
    type: "ConflictError",
    message: "there is a volume data with other settings; delete it first",
  });

  assert.deepEqual(await list(world), before);
});

test("one that is forgotten although it is in use keeps what is in it", async (t) => {
  const world = await openWorld(t);
  await world.run(rows.apply, { name: "data", ...folder });
  const [{ name_on_cloud: path } = { name_on_cloud: "" }] = await list(world);
  await launch(world, taskOf({ "~/data": "data" }));

  await world.run(rows.delete, { names: ["data"], purge: true });

  assert.ok(existsSync(path));
  assert.deepEqual(await list(world), []);
});

test("a task runs where its volume is, and is refused where that cannot be", async (t) => {
  const world = await openWorld(t);
  const { offer } = world.provider;
  world.provider.otherOffers = [{ ...offer, infra: "fake/cheap", dollarsPerHour: 0 } as never];
  const at = (name: string, infra: string) =>
    world.ctx.batch((tx) =>
      addVolume(tx, aVolume({ name, document: { ...aVolume().document, name, infra } })),
    );
  await at("data", "local");
  await at("there", "ssh/lab/a");

  await launch(
    world,
    taskOf({ "~/data": "data" }, { resources: { any_of: [{ cpus: "1+" }, { cpus: "2+" }] } }),
  );
  assert.equal((await world.cluster("c")).offer.infra, "local");

  const dag = taskOf({ "~/data": "data" });
  const planned = await world.call(taskOperations.optimize, { dag, request_options: null });
  await world.get(taskOperations.optimize, planned);
  assert.match(await world.printed(planned), /local .* chosen$/m);

  const refused = (volumes: object, more: object, message: string) =>
    assert.rejects(launch(world, taskOf(volumes, more), "d"), { type: "ValueError", message });
  const data = { "~/data": "data" };
  await refused(
    { ...data, "~/there": "there" },
    {},
    "volumes: there is on ssh/lab/a, and data on local",
  );
  await refused(
    data,
    { resources: { infra: "fake" } },
    "volumes: data is on local, and resources.infra is fake",
  );
  await refused(
    { "~/there": "there" },
    { num_nodes: 2 },
    "volumes: there is on one host, ssh/lab/a, and the task has 2 nodes; use a volume of type nfs",
  );
});

test("a volume that is being deleted is not made ready again", async (t) => {
  const world = await openWorld(t);
  await world.run(rows.apply, { name: "data", ...folder });
  const volume = (await findVolume(world.ctx.db, "data")) ?? assert.fail();
  const problem = "it is being deleted";
  await world.ctx.batch((tx) => setVolume(tx, volume, { problem }));

  await assert.rejects(world.run(rows.apply, { name: "data", ...folder }), {
    type: "ConflictError",
    message: "volume data: it is being deleted",
  });
  assert.equal(await world.ctx.batch((tx) => setVolume(tx, volume, { problem: "late" })), false);
  await world.ctx.batch((tx) => deleteVolume(tx, volume));

  assert.equal((await list(world, true))[0]?.error_message, problem);
});

test("no volume overlaps another one, or what control keeps", async (t) => {
  const world = await openWorld(t);
  const path = aFolder(t);
  const link = join(aFolder(t), "link");
  symlinkSync(world.ctx.config.home, link);
  const apply = (name: string, host_path: string) =>
    world.run(rows.apply, { name, ...folder, config: { host_path }, use_existing: true });
  mkdirSync(join(path, "one/below"), { recursive: true });
  mkdirSync(join(path, "one-more"));
  await apply("one", join(path, "one"));

  for (const overlapping of [path, join(path, "one/"), join(path, "one-more/../one/below")])
    await assert.rejects(apply("two", overlapping), { type: "ConflictError" });
  for (const own of [world.ctx.config.home, join(world.ctx.config.home, "uploads"), link])
    await assert.rejects(apply("two", own), { type: "ValueError", message: /control plane keeps/ });
  await apply("two", join(path, "one-more"));

  assert.deepEqual(
    (await list(world)).map(({ name }) => name),
    ["one", "two"],
  );
});

test("a volume is only made where its workspace may have nodes", async (t) => {
  const world = await openWorld(t);
  const config = { allowed_infra: ["ssh/lab"] };
  await world.run(workspaces.update, { workspace_name: "default", config });

  await assert.rejects(world.run(rows.apply, { name: "data", ...folder }), {
    type: "UserRequestRejectedByPolicy",
    message: "workspace default: its configuration does not allow local (allowed_infra)",
  });
  assert.deepEqual(await list(world), []);
});

test("a volume that is not there, or in a workspace of others, is not found by launches and managed jobs", async (t) => {
  const world = await openWorld(t);
  await world.ctx.batch((tx) => addVolume(tx, aVolume({ name: "theirs", workspace: "team" })));
  const ben = await world.as("ben");
  const unknown = { type: "VolumeNotFoundError" };

  for (const name of ["theirs", "none"]) {
    const task = taskOf({ "~/x": name }, { run: "x" });
    await assert.rejects(ben.run(clusters.launch, { cluster_name: "c", task }), unknown);
    await assert.rejects(ben.run(jobs.launch, { name: "j", task }), unknown);
    await assert.rejects(ben.run(rows.delete, { names: [name] }), unknown);
  }
});

test("no task attaches a volume once it is being deleted", async (t) => {
  const world = await openWorld(t);
  await world.run(rows.apply, { name: "data", ...folder });
  const release = world.provider.holds("create");
  const launched = await world.call(clusters.launch, {
    cluster_name: "c",
    task: taskOf({ "~/d": "data" }),
  });
  await world.provider.held("create");

  await world.run(rows.delete, { names: ["data"] });
  release();

  await assert.rejects(world.get(clusters.launch, launched), { type: "VolumeNotFoundError" });
});

test("a workspace is not deleted while it has a volume", async (t) => {
  const world = await testWorld(t);
  await world.run(workspaces.create, { workspace_name: "team", config: {} });
  await world.ctx.batch((tx) => addVolume(tx, aVolume({ workspace: "team" })));

  await assert.rejects(world.run(workspaces.delete, { workspace_name: "team" }), {
    message: "workspace team cannot be deleted while it is in use: volumes data (ana)",
  });
});
