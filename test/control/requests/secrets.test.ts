import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { testWorld, type World } from "../../helpers/world.ts";

const demo = { cluster_name: "demo", task: "run: 'true'" };

const list = async (world: World, query = "") =>
  (await world.http("GET", `/api/status${query}`)).json as unknown as Record<string, string>[];

test("no secret of a task is written anywhere", async (t) => {
  const secret = "s3cr3t-value-of-the-user";
  const world = await testWorld(t, { queuesClosed: true });
  const call = {
    ...demo,
    task: `{run: 'true', secrets: {TOKEN: ${secret}}}`,
    entrypoint_command: `launch --secret TOKEN=${secret} task.yaml`,
  };
  const id = await world.call(clusters.launch, call);
  const waiting = filesOf(world.home);

  const after = await world.crash();
  await after.get(clusters.launch, id);

  const { submission } =
    after.provider.agentOf((await after.cluster("demo")).id).node.jobs[0] ?? {};
  assert.deepEqual(submission?.secrets, { TOKEN: secret });
  for (const [file, bytes] of [...waiting, ...filesOf(after.home)])
    assert.ok(!bytes.includes(secret), file);
  assert.ok(![...world.logged, ...after.logged].some((line) => line.includes(secret)));
  const records = JSON.stringify([
    await after.run(clusters.status, {}),
    await after.run(clusters.costReport, {}),
    await list(after, "?all_status=true"),
  ]);
  assert.ok(!records.includes(secret));
});

const filesOf = (folder: string): [string, Buffer][] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name))]);
