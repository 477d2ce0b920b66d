import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AppError } from "../../../common/errors.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { requestOperations as rows } from "../../../contract/operations/requests.ts";
import { collect } from "../../../control/collector.ts";
import type { Batch } from "../../../control/db/batch.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld } from "../../helpers/world.ts";
import { demo, list, withLaunch } from "./held-launch.ts";

const hourMs = 3_600_000;

test("api/get waits until the request ends, for any number of callers, and keeps the result", async (t) => {
  const { world, id, release } = await withLaunch(t);

  const getting = [id, id, id.slice(0, 8)].map((one) => world.get(clusters.launch, one));
  release();

  for (const result of await Promise.all(getting)) assert.equal(result.job_id, 1);
  assert.equal((await world.get(clusters.launch, id)).job_id, 1);
});

test("api/get of a failed request is a 500 with the record in both places", async (t) => {
  const world = await testWorld(t);
  const id = await world.call(clusters.stop, { cluster_name: "nowhere" });

  const { status, json } = await world.http("GET", `/api/get?request_id=${id}`);

  const { detail, ...record } = json;
  assert.equal(status, 500);
  assert.deepEqual(detail, record);
  assert.equal(record["status"], "FAILED");
  const { type, message, object } = JSON.parse(String(record["error"]));
  assert.equal(type, "ClusterDoesNotExist");
  assert.equal(message, "there is no cluster nowhere; list them with: outrigger status");
  assert.match(object, /^gA/);
});

test("api/get says what is wrong with an id", async (t) => {
  const world = await testWorld(t);
  await Promise.all(Array.from({ length: 20 }, () => world.call(clusters.status, {})));
  const ids = (await list(world, "?all_status=true")).map((one) => one["request_id"] ?? "");
  const twice = ids.map((id) => id[0]).find((first, at, all) => all.indexOf(first) !== at);
  const ask = (id: string) => world.http("GET", `/api/get?request_id=${encodeURIComponent(id)}`);

  for (const id of ["zz", "", "00000000-0000-4000-8000-000000000000", "%", "_", "'; DROP TABLE"])
    assert.equal((await ask(id)).status, 404, id);
  const { status, json } = await ask(twice ?? "");
  assert.equal(status, 400);
  assert.match(String(json["detail"]), /several requests begin with/);
});

test("api/get of a client that hangs up ends, the request goes on", async (t) => {
  const { world, id, release } = await withLaunch(t);
  const abort = new AbortController();
  const getting = world.http("GET", `/api/get?request_id=${id}`, { signal: abort.signal });

  abort.abort();
  await assert.rejects(getting);
  release();

  assert.equal((await world.get(clusters.launch, id)).job_id, 1);
});

test("api/status lists what has not ended; more on demand", async (t) => {
  const { world, id, release } = await withLaunch(t);
  const ended = await world.call(clusters.stop, { cluster_name: "other" });
  await assert.rejects(world.get(clusters.stop, ended));
  const ids = async (query: string) => (await list(world, query)).map((one) => one["request_id"]);

  assert.deepEqual(await ids(""), [id]);
  assert.deepEqual(await ids("?all_status=True"), [ended, id]);
  assert.deepEqual(await ids("?all_status=true&limit=1"), [ended]);
  assert.deepEqual(await ids("?cluster_name=demo"), [id]);
  assert.deepEqual(await ids("?all_status=1&cluster_name=other"), [ended]);
  assert.deepEqual(await ids(`?request_ids=${ended.slice(0, 8)}`), [ended]);
  assert.deepEqual(await ids(`?request_ids=${ended}&request_ids=${id}`), [ended, id]);
  assert.deepEqual(await ids("?request_ids=zz"), []);
  release();
});

test("a request that many prefixes fit is listed once", async (t) => {
  const world = await testWorld(t);
  await Promise.all(Array.from({ length: 100 }, () => world.call(clusters.status, {})));

  const listed = await list(world, `?${"request_ids=&".repeat(400)}`);

  assert.equal(listed.length, 100);
});

test("a listed request tells who waits for what and why", async (t) => {
  const { world, id, release } = await withLaunch(t);

  const [record] = await list(world);

  const { name, status, schedule_type, cluster_name, user_id, return_value, error } = record ?? {};
  assert.deepEqual(
    { name, status, schedule_type, cluster_name, user_id, return_value, error },
    {
      name: "sky.launch",
      status: "RUNNING",
      schedule_type: "long",
      cluster_name: "demo",
      user_id: "local",
      return_value: "null",
      error: "null",
    },
  );
  assert.equal(record?.["request_id"], id);
  release();
});

test("a running request is cancelled: its work ends, its stream says so and ends", async (t) => {
  const { world, id, release } = await withLaunch(t);
  const { body } = await world.open("GET", `/api/stream?request_id=${id}`);

  assert.deepEqual(await world.cancel(id.slice(0, 8)), [id]);

  let text = "";
  for await (const chunk of body) text += chunk;
  assert.match(text, new RegExp(`'sky.launch' request ${id} cancelled\\n$`));
  await assert.rejects(world.get(clusters.launch, id), { type: "RequestCancelled" });
  release();
  await world.untilStatus("demo", "UP");
  assert.equal(world.provider.agentOf((await world.cluster("demo")).id).node.jobs.length, 0);
});

test("a cancel is told once, though another write of its moment fails and it is tried again", async (t) => {
  const { world, id, release } = await withLaunch(t);
  const { batch, requestLogs } = world.ctx;
  let refusals = 0;
  const refuseOnce = async () => {
    if (refusals === 0 && requestLogs.read(id).includes("cancelled")) {
      refusals += 1;
      assert.fail("refused");
    }
  };
  t.mock.method(world.ctx, "batch", (write: Parameters<Batch>[0]) => {
    const written = batch(write);
    batch(refuseOnce).catch(() => {});
    return written;
  });

  await world.cancel(id);

  assert.equal(refusals, 1);
  assert.equal((await world.printed(id)).match(/request .* cancelled\n/g)?.length, 1);
  release();
});

test("a launch that is cancelled says that its new cluster goes on, and how to end it", async (t) => {
  const { world, id: maker, release } = await withLaunch(t);
  const user = await world.call(clusters.launch, demo);
  await until(async () => /^Cluster demo/m.test(await world.printed(user)) || undefined);

  await world.cancel(maker, user);

  const hint = "cluster demo continues; take it down with `outrigger down demo`\n";
  assert.ok((await world.printed(maker)).includes(hint));
  assert.ok(!(await world.printed(user)).includes(hint));
  release();
});

test("a request that waits in its queue is cancelled and never begins", async (t) => {
  const world = await testWorld(t, { config: { longAtOnce: 1 } });
  const { promise: offers, resolve } = Promise.withResolvers<[]>();
  world.provider.offers = () => offers;
  const first = await world.call(clusters.launch, demo);
  const second = await world.call(clusters.launch, { ...demo, cluster_name: "never" });

  assert.deepEqual(await world.cancel(second), [second]);
  resolve([]);
  await assert.rejects(world.get(clusters.launch, first), { type: "ResourcesUnavailableError" });

  await assert.rejects(world.get(clusters.launch, second), { type: "RequestCancelled" });
  assert.equal(await world.printed(second), `'sky.launch' request ${second} cancelled\n`);
});

test("requests that wait for a cluster keep no other from its turn", async (t) => {
  const world = await testWorld(t, { config: { longAtOnce: 1, shortAtOnce: 1 } });
  await world.run(clusters.launch, demo);
  const release = world.provider.holds("stop");
  const stopping = world.run(clusters.stop, demo);
  await world.provider.held("stop");
  const start = await world.call(clusters.start, demo);
  await world.untilNote(start, /waits until cluster demo is stopped/);

  assert.equal((await world.run(clusters.status, {})).length, 1);
  await world.run(clusters.launch, { ...demo, cluster_name: "other" });

  release();
  await stopping;
  await world.get(clusters.start, start);
});

test("what has ended is not cancelled again", async (t) => {
  const world = await testWorld(t);
  const id = await world.call(clusters.status, {});
  await world.get(clusters.status, id);

  assert.deepEqual(await world.cancel(id), []);
  await assert.rejects(world.cancel("zz"), { type: "NotFoundError" });
});

test("cancel without ids cancels everything of a user, or of everyone; users only their own", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const launch = async (user: string) =>
    (await world.as(user)).call(clusters.launch, { ...demo, cluster_name: user });
  const ids = await Promise.all(["ann", "ben", "cid"].map(launch));
  const cid = await world.as("cid");

  assert.deepEqual(await world.run(rows.cancel, { user_id: "ann" }), [ids[0]]);
  assert.deepEqual(await cid.run(rows.cancel, { user_id: "ben" }), [ids[2]]);
  await assert.rejects(cid.run(rows.cancel, { request_ids: [ids[1] ?? ""] }), {
    type: "NotFoundError",
  });
  assert.deepEqual(await world.run(rows.cancel, {}), [ids[1]]);
  release();
});

test("requests are forgotten some time after they ended, with their logs", async (t) => {
  const { world, id: running, release } = await withLaunch(t);
  const ended = await world.call(clusters.autostopLogs, { cluster_name: "demo" });
  await world.get(clusters.autostopLogs, ended);
  const logs = () => readdirSync(join(world.home, "control/requests"));
  assert.ok(logs().includes(`${ended}.log`));

  world.advance(23 * hourMs);
  await collect(world.ctx);
  assert.equal((await list(world, "?all_status=true")).length, 2);
  world.advance(2 * hourMs);
  await collect(world.ctx);

  assert.deepEqual(
    (await list(world, "?all_status=true")).map((one) => one["request_id"]),
    [running],
  );
  assert.ok(!logs().includes(`${ended}.log`));
  assert.equal((await world.http("GET", `/api/get?request_id=${ended}`)).status, 404);
  release();
});

test("names and ids are completed", async (t) => {
  const { world, id, release } = await withLaunch(t);
  const complete = async (kind: string, incomplete: string) =>
    (await world.http("GET", `/api/completion/${kind}?incomplete=${incomplete}`)).json;

  assert.deepEqual(await complete("cluster_name", "de"), ["demo"]);
  assert.deepEqual(await complete("cluster_name", "%25"), []);
  assert.deepEqual(await complete("api_request", id.slice(0, 5)), [id]);
  assert.deepEqual(await complete("storage_name", ""), []);
  assert.deepEqual(await complete("volume_name", ""), []);
  release();
});

test("a bug of ours is told as such, without its text, and goes to the log", async (t) => {
  const world = await testWorld(t, { mayFail: true });
  world.provider.fails("list", new Error("boom in line 7") as AppError);

  await assert.rejects(world.run(clusters.launch, demo), {
    type: "InternalError",
    message: "internal error; the log has the details",
  });

  assert.ok(world.logged.some((line) => line.includes("boom in line 7")));
  world.provider.fails("list", undefined);
});
