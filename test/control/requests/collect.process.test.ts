import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { collect } from "../../../control/collector.ts";
import { testWorld } from "../../helpers/world.ts";
import { list } from "./held-launch.ts";

const hourMs = 3_600_000;

/** What is stored and does nothing. */
const planned = { cluster_name: "demo", task: "run: echo hi", dryrun: true };

test("a request is forgotten after its log, and what cannot be forgotten holds up nothing else", async (t) => {
  const world = await testWorld(t);
  const id = await world.call(clusters.launch, planned);
  await world.get(clusters.launch, id);
  const log = join(world.home, "control/requests", `${id}.log`);
  const download = join(world.home, "control/clients/u1/logs/old");
  rmSync(log);
  for (const folder of [log, download]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(download, "run.log"), "");
  world.advance(25 * hourMs);

  await assert.rejects(collect(world.ctx), /some old data was not deleted/);

  assert.equal((await list(world, "?all_status=true")).length, 1);
  assert.ok(!existsSync(download));
  rmSync(log, { recursive: true });
  await collect(world.ctx);
  assert.deepEqual(await list(world, "?all_status=true"), []);
});

test("a negative retention keeps requests for ever", async (t) => {
  const world = await testWorld(t, { config: { requestRetentionHours: -1 } });
  await world.run(clusters.launch, planned);

  world.advance(1_000 * hourMs);
  await collect(world.ctx);

  assert.equal((await list(world, "?all_status=true")).length, 1);
});
