import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { poolOperations as pools } from "../../../contract/operations/pools.ts";
import { serveOperations as serve } from "../../../contract/operations/serve.ts";
import { workspaceOperations as workspaces } from "../../../contract/operations/workspaces.ts";
import { readSecretFile } from "../../../control/clusters/files/secret-files.ts";
import { listParcels } from "../../../control/clusters/files/store.ts";
import { databaseOf } from "../../../control/home.ts";
import { findValue } from "../../../control/secrets/store.ts";
import { type Calls, testWorld, type World } from "../../helpers/world.ts";

/** The secrets that the latest job of the cluster got. */
async function gotten(world: World, calls: Calls, task: string, words = {}) {
  await calls.run(clusters.launch, { cluster_name: "c", task, ...words });
  const { id } = await world.cluster("c");
  return world.provider.machines.get(`${id}-0`)?.node.jobs.at(-1)?.submission.secrets;
}

const sent = async (calls: Calls, path: string, body: object) => {
  const { status, text } = await calls.http("POST", path, { body });
  assert.equal(status, 200, text);
};
const set = (calls: Calls, name: string, value: string, scope = "user") =>
  sent(calls, "/secrets/set", { name, value, scope });

test("a task gets the stored secrets that it names: its user's, else those of its workspace", async (t) => {
  const world = await testWorld(t);
  const ann = await world.as("ann");
  await set(ann, "A", "of ann");
  await set(ann, "B", "of all", "workspace");
  await set(ann, "A", "of all", "workspace");
  await set(ann, "C", "too");

  const forms = {
    list: "secrets: ['secrets:A', 'secrets:B']\nrun: x",
    mapping: "secrets: { 'secrets:A': null, 'secrets:B': null }\nrun: x",
    "managed secrets": "managed_secrets: [A, B]\nrun: x",
  };
  for (const [form, task] of Object.entries(forms))
    assert.deepEqual(await gotten(world, ann, task), { A: "of ann", B: "of all" }, form);
  const own = "secrets: { A: its own, 'secrets:A': null, 'secrets:C': null }\nrun: x";
  assert.deepEqual(await gotten(world, ann, own), { A: "its own", C: "too" });
  const ben = await world.as("ben");
  assert.deepEqual(await gotten(world, ben, forms.list), { A: "of all", B: "of all" });
  await assert.rejects(gotten(world, ben, own), {
    type: "NotFoundError",
    message: "there is no stored secret C; store it with outrigger secrets set C",
  });
});

test("a stored secret becomes a file that only its user reads, and no variable", async (t) => {
  const world = await testWorld(t);
  await set(world, "KEY", "of a door");
  await set(world, "BOTH", "twice");
  const file = (name: string) => ({ [name]: { mount_path: `~/${name}` } });
  const managed_secrets = [file("KEY"), file("BOTH"), "BOTH"];
  const task = JSON.stringify({ managed_secrets, run: "x" });

  assert.deepEqual(await gotten(world, world, task), { BOTH: "twice" });

  const { id } = await world.cluster("c");
  const parcels = await listParcels(world.ctx.db, world.ctx.seal, id);
  const [key] = parcels.filter((one) => "secret" in one);
  assert.deepEqual([key?.name, key?.destination, parcels.length], ["secret KEY", "~/KEY", 2]);
  const load = readSecretFile(key ?? assert.fail());
  assert.deepEqual(
    load.entries.map((one) => one.kind === "file" && [one.mode, one.size]),
    [[0o600, 9]],
  );
  await assert.rejects(world.run(clusters.exec, { cluster_name: "c", task }), {
    message: /managed_secrets: KEY is a file, which only a launch brings to nodes/,
  });
});

test("an anchor at secrets that name stored ones is refused", async (t) => {
  const world = await testWorld(t);
  await set(world, "A", "stored");

  await assert.rejects(gotten(world, world, "secrets: &all {'secrets:A': null}\nrun: x"), {
    type: "ValueError",
    message: "secrets: leave the anchor &all out where stored secrets are named",
  });
});

test("every operation that runs a task looks its stored secrets up", async (t) => {
  const world = await testWorld(t);
  const secrets = ["secrets:NONE"];
  const service = { readiness_probe: "/", replicas: 1 };
  const task = (more: object) => JSON.stringify({ secrets, ...more });
  await world.run(clusters.launch, { cluster_name: "c", task: "run: x" });
  const attempts = [
    () => world.run(clusters.exec, { cluster_name: "c", task: task({ run: "x" }) }),
    () => world.run(jobs.launch, { name: "j", task: task({ run: "x" }) }),
    () =>
      world.run(serve.up, {
        service_name: "s",
        task: task({ run: "x", service, resources: { ports: 80 } }),
      }),
    () =>
      world.run(pools.apply, {
        pool_name: "p",
        mode: "rolling",
        task: task({ pool: { workers: 1 } }),
      }),
  ];

  for (const attempt of attempts)
    await assert.rejects(attempt(), { message: /^there is no stored secret NONE; / });
});

test("a value is nowhere in clear, and no answer has it", async (t) => {
  const world = await testWorld(t);
  const value = ["correct horse", "battery staple"].join(" ");
  const ann = await world.as("ann");
  await set(ann, "KEY", value);
  await gotten(world, ann, "secrets: ['secrets:KEY']\nrun: x");

  const listed = await ann.http("GET", "/secrets");
  assert.match(listed.text, /"name":"KEY".*"updated_by":"ann"/);
  const { text } = await ann.http("GET", "/api/status?all_status=true");
  for (const shown of [listed.text, text]) assert.ok(!shown.includes(value));
  const folder = join(databaseOf(world.ctx.config.home), "..");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (/state\.db|\.log$/.test(name))
      assert.ok(!readFileSync(join(folder, name)).includes(value), name);
});

test("secrets go when they are deleted, and with their user and their workspace", async (t) => {
  const world = await testWorld(t);
  const { db, seal } = world.ctx;
  const ann = await world.as("ann");
  const { id: owner } = JSON.parse((await ann.http("GET", "/users/role")).text);
  await set(ann, "A", "1");
  await set(ann, "B", "2");
  await sent(ann, "/secrets/delete", { name: "A" });
  const again = await ann.http("POST", "/secrets/delete", { body: { name: "A" } });
  assert.equal(again.status, 404);
  assert.equal(await findValue(db, seal, { scope: "user", owner }, "B"), "2");

  await sent(world, "/users/delete", { user_id: owner });
  assert.equal(await findValue(db, seal, { scope: "user", owner }, "B"), undefined);

  await world.run(workspaces.create, { workspace_name: "lab", config: {} });
  const inLab = { override_outrigger_config: { active_workspace: "lab" } };
  await sent(world, "/secrets/set", { name: "S", value: "3", scope: "workspace", ...inLab });
  const lab = { scope: "workspace", owner: "lab" } as const;
  assert.equal(await findValue(db, seal, lab, "S"), "3");
  await world.run(workspaces.delete, { workspace_name: "lab" });
  assert.equal(await findValue(db, seal, lab, "S"), undefined);
});
