import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { requestOperations as requests } from "../../../contract/operations/requests.ts";
import { collect } from "../../../control/collector.ts";
import { openReads } from "../../../control/requests/reads.ts";
import { testWorld } from "../../helpers/world.ts";

const minuteMs = 60_000;

test("what is only read writes nothing into the database, and can be fetched for ten minutes", async (t) => {
  const world = await testWorld(t);
  const id = await world.call(clusters.status, {});
  assert.deepEqual(await world.get(clusters.status, id), []);
  assert.deepEqual(await world.ctx.db.selectFrom("requests").selectAll().execute(), []);

  world.advance(9 * minuteMs);
  await collect(world.ctx);
  assert.deepEqual(await world.get(clusters.status, id), []);

  world.advance(2 * minuteMs);
  await collect(world.ctx);
  assert.equal((await world.http("GET", `/api/get?request_id=${id}`)).status, 404);
});

test("requests that read are listed and cancelled as others are, also by the beginning of their id", async (t) => {
  const world = await testWorld(t, { queuesClosed: true });
  const id = await world.call(clusters.status, {});
  const listed = async (query = "") =>
    (await world.http("GET", `/api/status${query}`)).json as unknown as { request_id: string }[];
  assert.deepEqual(
    (await listed()).map((one) => one.request_id),
    [id],
  );
  assert.deepEqual((await listed(`?request_ids=${id.slice(0, 8)}`)).length, 1);

  await world.call(requests.cancel, { request_ids: [id.slice(0, 8)] });
});

test("results take no more memory than there is for them; the newest stays", () => {
  const reads = openReads();
  const large = "x".repeat(40 * 1024 * 1024);
  for (const id of ["a", "b"]) {
    const name = "status";
    const who = { queue: "short", userId: "u", userName: "ann", clusterName: null } as const;
    const asked = { input: {}, command: "" };
    reads.add(
      {
        id,
        name,
        ...who,
        clientApi: null,
        workspace: "default",
        credential: "local",
        createdAt: 1,
      },
      asked,
    );
    reads.end(id, { status: "SUCCEEDED", returnValue: large }, 2);
  }

  assert.equal(reads.find("a"), undefined);
  assert.equal(reads.findEnded("b")?.returnValue?.length, large.length);
  assert.equal(reads.end("b", { status: "CANCELLED" }, 3), false);
  assert.equal(reads.end("a", { status: "CANCELLED" }, 3), undefined);
});
