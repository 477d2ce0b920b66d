import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { taskOperations as rows } from "../../contract/operations/tasks.ts";
import { volumeOperations as volumes } from "../../contract/operations/volumes.ts";
import { testWorld } from "../helpers/world.ts";

const folder = join(import.meta.dirname, "../../examples");
const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));

test("every example is valid, and each of its tasks has a machine", async (t) => {
  assert.ok(files.length >= 30, `${files.length} examples`);
  const world = await testWorld(t);
  const { offer } = world.provider;
  assert.ok(offer);
  const l4 = { name: "L4", count: 1 };
  world.provider.otherOffers = [
    { ...offer, infra: "local", instanceType: "local", accelerators: l4 },
  ];

  const volume = readFileSync(join(folder, "volumes/results.yaml"), "utf8");
  assert.match(volume, /^name: results$/m);
  await world.run(volumes.apply, { name: "results", volume_type: "folder", cloud: "local" });
  for (const name of files) {
    // What the caller gives with --secret.
    const text = readFileSync(join(folder, name), "utf8").replace(
      /^( {2}[A-Z_]+): *#.*$/gm,
      "$1: k",
    );
    const dag = { dag: text, request_options: null };
    const checked = await world.http("POST", "/validate", { body: dag });
    assert.equal(checked.status, 200, `${name}: ${checked.text}`);
    const id = await world.call(rows.optimize, dag);
    await world.get(rows.optimize, id).catch((error: Error) => assert.fail(`${name}: ${error}`));
    const plan = await world.printed(id);
    const tasks = plan.match(/^Candidates for /gm)?.length;
    assert.equal(plan.match(/ {2}chosen$/gm)?.length, tasks, `${name}: ${plan}`);
  }
});
