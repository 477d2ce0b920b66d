import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld, type World } from "../../helpers/world.ts";

/** Has the database refuse a change of requests, as on a full disk; gives it room again when called. */
async function withoutRoom({ ctx: { db } }: World, when: string): Promise<() => Promise<unknown>> {
  await sql`create trigger full before update on requests when ${sql.raw(when)}
    begin select raise(abort, 'no room'); end`.execute(db);
  return () => sql`drop trigger full`.execute(db);
}

const untilLogged = (world: World, message: string) =>
  until(() => world.logged.some((line) => line.includes(message)) || undefined);

test("a request whose end cannot be written down ends once it can", async (t) => {
  const world = await testWorld(t, { mayFail: true });
  const release = world.provider.holds("create");
  const launching = await world.call(clusters.launch, { cluster_name: "c", task: "run: 'true'" });
  await world.provider.held("create");
  const giveRoom = await withoutRoom(world, "new.finished_at is not null");
  const failing = await world.call(clusters.stop, { cluster_name: "nowhere" });
  release();
  await until(
    () => world.logged.filter((line) => line.includes("not ended yet")).length > 1 || undefined,
  );

  await giveRoom();

  assert.equal((await world.get(clusters.launch, launching)).job_id, 1);
  await assert.rejects(world.get(clusters.stop, failing), { type: "ClusterDoesNotExist" });
});

test("a request whose start could not be written down has its result all the same", async (t) => {
  const world = await testWorld(t, { mayFail: true });
  const giveRoom = await withoutRoom(world, "new.status = 'RUNNING'");
  const planned = { cluster_name: "demo", task: "run: echo hi", dryrun: true };
  const id = await world.call(clusters.launch, planned);
  await untilLogged(world, "start not written down");

  await giveRoom();

  assert.equal((await world.get(clusters.launch, id)).job_id, null);
});

test("control stops although the end of a request cannot be written down", async (t) => {
  const world = await testWorld(t, { mayFail: true });
  await withoutRoom(world, "new.finished_at is not null");
  await world.call(clusters.stop, { cluster_name: "nowhere" });
  await untilLogged(world, "not ended yet");

  await world.close();
});
