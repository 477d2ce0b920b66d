import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { GivenInputOf } from "../../common/operation.ts";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { workspaceOperations as workspaces } from "../../contract/operations/workspaces.ts";
import { testWorld, type World } from "../helpers/world.ts";

const shortage = "fake/lab: no host is free\n  10.0.0.5: no route to it";

async function checked(world: World): Promise<string> {
  const id = await world.call(rows.check, {});
  await world.get(rows.check, id);
  return world.printed(id);
}

test("check tells what there is, and what there is and cannot be had, with the reason", async (t) => {
  const world = await testWorld(t);
  const offered = await checked(world);
  assert.match(offered, /^fake: \S+ \(.*\)\nEnabled infra: fake\n$/);

  Object.assign(world.provider, { shortages: async () => [shortage] });
  const summary = "Enabled infra: fake\n";
  assert.equal(await checked(world), offered.replace(summary, `${shortage}\n${summary}`));
  world.provider.offer = undefined;
  assert.equal(await checked(world), `${shortage}\nEnabled infra: none\n`);
  Object.assign(world.provider, { shortages: async () => [] });
  assert.equal(await checked(world), "fake: nothing to offer\nEnabled infra: none\n");
});

test("whoever misspells a cloud is told of one that is spelled so", async (t) => {
  const world = await testWorld(t);

  await assert.rejects(world.run(rows.check, { workspace: "other" }), {
    type: "PermissionDeniedError",
    message: 'there is no workspace "other"; yours: default',
  });
  await assert.rejects(world.run(rows.check, { clouds: ["fke"] }), {
    message: "this control plane cannot launch on fke; did you mean `fake`?",
  });
});

test("a cloud that has no place is not enabled", async (t) => {
  const world = await testWorld(t);
  const enabled = () => world.run(rows.enabledClouds, {});
  assert.deepEqual(await enabled(), ["fake"]);

  Object.assign(world.provider, { places: async () => [] });
  assert.deepEqual(await enabled(), []);
});

test("what is enabled is told of several workspaces, and by place", async (t) => {
  const world = await testWorld(t);
  Object.assign(world.provider, { places: async () => ["fake", "fake/lab", "fake/other"] });
  await world.as("ana");
  await world.run(workspaces.create, {
    workspace_name: "lab",
    config: { private: true, allowed_users: ["ana"], allowed_infra: ["fake/lab"] },
  });
  const ofAll = async (calls: Pick<World, "run">, expand: boolean) =>
    calls.run(rows.enabledCloudsBatch, {
      workspaces: "default,lab,none",
      expand: `${expand}`,
    });

  assert.deepEqual(await ofAll(world, false), { default: ["fake"], lab: ["fake"] });
  const places = { default: ["fake/lab", "fake/other"], lab: ["fake/lab"] };
  assert.deepEqual(await ofAll(world, true), places);
  assert.deepEqual(await ofAll(await world.as("ben"), true), { default: places.default });
  assert.deepEqual(await world.run(rows.enabledClouds, { expand: "true" }), places.default);
});

test("accelerators are listed with what is offered and what the catalog knows", async (t) => {
  const world = await testWorld(t, { hasSpot: true });
  const list = (input: GivenInputOf<typeof rows.listAccelerators>) =>
    world.run(rows.listAccelerators, input);
  const fake = ["fake", "small", "H100", 8, 4, 80, 16, 2, 0.5, "here"];

  assert.deepEqual(await list({ clouds: "Fake" }), { H100: [fake] });
  const eight = (await list({ name_filter: "^H100$", quantity_filter: 8 }))["H100"] ?? [];
  assert.deepEqual(
    eight.map(([cloud, machine]) => `${cloud} ${machine}`),
    ["fake small", "lambda 8x H100 SXM", "aws p5.48xlarge"],
  );
  assert.deepEqual(Object.keys(await list({ region_filter: "us-central1" })), ["H100"]);
  assert.deepEqual(await list({ name_filter: "h100" }), {});
  const anyCase = await list({ name_filter: "^h100", case_sensitive: false });
  assert.deepEqual(Object.keys(anyCase).sort(), ["H100", "H100-NVL"]);
  await assert.rejects(list({ name_filter: "(0*)*(0*)*(0*)*(0*)*(0*)*(0*)*x|(.?){9}" }), {
    type: "ValueError",
  });

  const counts = await world.run(rows.listAcceleratorCounts, { name_filter: "^H100$" });
  assert.deepEqual(counts, { H100: [1, 2, 4, 8] });
});

test("an own file can add regions, other accelerators and machines without a price", async (t) => {
  const world = await testWorld(t);
  const folder = join(world.ctx.config.home, "catalog");
  mkdirSync(folder);
  const machine = (more: string) =>
    `{cloud: aws, accelerator: Trainium, count: 16, ${more}, source: us, date: 2026-11-01}`;
  const machines = ["us-east-1, on_demand: 9", "us-west-2, on_demand: 8", "eu-north-1"].map(
    (more) => machine(`instance_type: trn1, region: ${more}`),
  );
  const kind =
    "{name: Trainium, manufacturer: AWS, kind: other, memory_gb: 32, source: us, date: 2026-11-01}";
  writeFileSync(
    join(folder, "ours.yaml"),
    `accelerators: [${kind}]\nmachines: [${machines.join(", ")}]`,
  );
  const regions = async (input: GivenInputOf<typeof rows.listAccelerators>) =>
    ((await world.run(rows.listAccelerators, input))["Trainium"] ?? []).map((row) => row[9]);

  assert.deepEqual(await regions({}), []);
  assert.deepEqual(await regions({ gpus_only: false }), ["us-west-2"]);
  const all = { gpus_only: false, all_regions: true };
  assert.deepEqual(await regions(all), ["us-west-2", "us-east-1"]);
  const unpriced = await regions({ ...all, require_price: false });
  assert.deepEqual(unpriced, ["us-west-2", "us-east-1", "eu-north-1"]);

  writeFileSync(join(folder, "broken.yaml"), "prices: 3");
  assert.match(await checked(world), /^catalog: broken\.yaml: prices: /);
});
