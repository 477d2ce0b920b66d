import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { cloudOperations as clouds } from "../../../contract/operations/clouds.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { requestOperations as requests } from "../../../contract/operations/requests.ts";
import { until } from "../../helpers/agent.ts";
import { startControl } from "../../helpers/programs.ts";
import { withLaunch } from "./held-launch.ts";

const hangingHook = `run: 'true'
config: {hooks: [{run: sleep 987, events: [stop]}]}`;

test("a request at work when control is killed three times has failed, and others are served", async (t) => {
  const control = await startControl(t);
  const { client, home } = control;
  const demo = { cluster_name: "demo" };
  await client.get(await client.call(clusters.launch, { ...demo, task: hangingHook }));
  const stop = await client.call(clusters.stop, demo);

  for (const runs of [1, 2, 3]) {
    await until(() => runsOf(home, stop) === runs || undefined);
    assert.equal((await client.get(await client.call(clusters.status, {}))).length, 1);
    await control.end("SIGKILL");
    await control.start();
  }

  await assert.rejects(client.get(stop), /control ended unexpectedly 3 times while it worked on/);
  await client.get(await client.call(clusters.down, { ...demo, skip_hooks: true }));
});

test("a pattern without an end holds up neither other requests, nor a stop, nor a restart", async (t) => {
  const control = await startControl(t);
  const { client } = control;
  const input = { name_filter: "(.?){1000}Z" };

  const id = await client.call(clouds.listAcceleratorCounts, input);
  await assert.rejects(client.get(id), /name_filter: repetition counts/);
  await control.end("SIGTERM");
  await control.start();

  assert.deepEqual(await client.get(await client.call(clusters.status, {})), []);
});

test("a cancel waits behind no other request", async (t) => {
  const { world, id } = await withLaunch(t, { shortAtOnce: 0 });

  assert.deepEqual(await world.cancel(id), [id]);
  assert.deepEqual(await (await world.crash()).cancel(id), []);
});

test("orderly stops in between count for nothing", async (t) => {
  const control = await startControl(t);
  const { client, home } = control;
  const demo = { cluster_name: "demo" };
  await client.get(await client.call(clusters.launch, { ...demo, task: hangingHook }));
  const stop = await client.call(clusters.stop, demo);
  await until(() => runsOf(home, stop) === 1 || undefined);

  await control.end("SIGTERM");
  assert.equal(runsOf(home, stop), 0);
  await control.start();

  assert.deepEqual(await client.get(await client.call(requests.cancel, { request_ids: [stop] })), [
    stop,
  ]);
  await client.get(await client.call(clusters.down, { ...demo, skip_hooks: true }));
});

/** How often work on a request has begun, as the database has it. */
function runsOf(home: string, id: string): unknown {
  const db = new DatabaseSync(join(home, "control", "state.db"), { readOnly: true });
  try {
    return db.prepare("SELECT runs FROM requests WHERE id = ?").get(id)?.["runs"];
  } finally {
    db.close();
  }
}
