import assert from "node:assert/strict";
import { test } from "node:test";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
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
    message: "there is no cloud fke; did you mean `fake`?",
  });
});

test("a cloud that has no place is not enabled", async (t) => {
  const world = await testWorld(t);
  const enabled = () => world.run(rows.enabledClouds, {});
  assert.deepEqual(await enabled(), ["fake"]);

  Object.assign(world.provider, { places: async () => [] });
  assert.deepEqual(await enabled(), []);
});
