import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { requestOperations as requests } from "../../../contract/operations/requests.ts";
import { pageRows } from "../../../control/db/lists.ts";
import { cancel } from "../../../control/requests/cancel.ts";
import { addRequest, setEnded } from "../../../control/requests/store.ts";
import { listUnended } from "../../../control/requests/work-store.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";
import { aCall } from "../clusters/a-call.ts";
import { list } from "./held-launch.ts";

/** Requests of which many came in the same millisecond; the oldest first. */
async function withRequests(
  t: TestContext,
  count: number,
): Promise<{ world: World; ids: string[] }> {
  const world = await testWorld(t, { queuesClosed: true });
  const ids = Array.from({ length: count }, () => randomUUID()).sort();
  await world.ctx.batch(async (tx) => {
    for (const id of ids)
      await addRequest(tx, {
        ...{ id, name: "launch", queue: "long", userId: "u1", userName: "ann" },
        ...{
          clusterName: "demo",
          clientApi: null,
          workspace: "default",
          credential: "local",
          createdAt: 1_000,
        },
        input: world.ctx.seal.seal("{}"),
      });
  });
  return { world, ids };
}

test("api/status leads from page to page, and no request is left out or listed twice", async (t) => {
  const { world, ids } = await withRequests(t, 25);
  const read = await world.call(clusters.status, {});
  const seen: string[] = [];

  for (let query = "?limit=10"; ; query = `?limit=10&after=${seen.at(-1)}`) {
    const page = await list(world, `${query}&all_status=true`);
    seen.push(...page.map((one) => one["request_id"] ?? ""));
    if (page.length < 10) break;
    await world.call(clusters.status, {});
  }

  assert.deepEqual(seen, [read, ...ids.toReversed()]);
});

test("api/status goes on after a request that has ended meanwhile, and says when one is gone", async (t) => {
  const { world, ids } = await withRequests(t, 3);
  const [oldest = "", middle = "", newest = ""] = ids;
  await setEnded(writable(world.ctx), middle, { status: "CANCELLED" }, 2_000);
  const idsOf = async (query: string) => (await list(world, query)).map((one) => one["request_id"]);

  assert.deepEqual(await idsOf("?limit=1"), [newest]);
  assert.deepEqual(await idsOf(`?after=${middle}`), [oldest]);
  assert.deepEqual(await idsOf(`?after=${middle}&cluster_name=demo&all_status=true`), [oldest]);
  assert.deepEqual(await idsOf(`?after=${oldest}&all_status=true`), []);
  assert.equal((await world.http("GET", `/api/status?after=${randomUUID()}`)).status, 404);
});

test("api/status fills the fields that it is asked for, and always the id", async (t) => {
  const { world, ids } = await withRequests(t, 1);

  const [record] = await list(world, "?fields=cluster_name&fields=status_msg&fields=nonsense");

  assert.deepEqual(record, {
    ...{ request_id: ids[0], cluster_name: "demo", status_msg: null },
    ...{ name: "", entrypoint: "", request_body: "null", status: "PENDING" },
    ...{ created_at: 0, finished_at: null, user_id: "", user_name: null },
    ...{ return_value: "null", error: "null", pid: null, schedule_type: "short" },
    ...{ should_retry: false, file_mounts_blob_id: null },
  });
});

test("cancelling all reaches past the first page, and no further than to one's own", async (t) => {
  const { world, ids } = await withRequests(t, pageRows + 1);
  const { ctx } = world;
  const pages: number[] = [];
  for await (const page of listUnended(ctx.db)) pages.push(page.length);

  const ofOther = await cancel(ctx, { ...all, user_id: "u2" }, aCall(ctx));
  const cancelled = await cancel(ctx, { ...all, user_id: "u1" }, aCall(ctx));

  assert.deepEqual([pages, ofOther], [[pageRows, 1], []]);
  assert.deepEqual(cancelled, ids);
  assert.ok((await listUnended(ctx.db).next()).done);
});

const all = requests.cancel.input.body.parse({ request_ids: null });
