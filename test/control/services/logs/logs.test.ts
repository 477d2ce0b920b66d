import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { GivenInputOf } from "../../../../common/operation.ts";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { belowDownloads, downloadsOf } from "../../../../control/downloads.ts";
import { balancerLogOf } from "../../../../control/services/folders.ts";
import { text, until } from "../../../helpers/agent.ts";
import { writable } from "../../../helpers/writable.ts";
import { aTask, type ServiceBed, withService } from "../bed.ts";

type Given = Partial<GivenInputOf<typeof rows.logs>>;

const one = aTask().replace("replicas: 2", "replicas: 1");

const ask = (given: Given) => ({ service_name: "chat", follow: false, ...given });

/** A log as it streams, still open. */
async function open({ world }: ServiceBed, given: Given) {
  const { status, body } = await world.open("POST", "/serve/logs", { body: ask(given) });
  return { status, text: text(body) };
}

const read = async (bed: ServiceBed, given: Given) => (await open(bed, given)).text;

const agentOf = async ({ world, replica }: ServiceBed, number: number) =>
  world.provider.agentOf((await replica(number)).clusterId ?? "");

test("the log of the controller says what was decided and why", async (t) => {
  const bed = await withService(t, one);
  await bed.untilService("READY");

  // Its line is written once the move is.
  const log = await until(async () => {
    const log = await read(bed, { target: "controller" });
    return log.includes(" READY: 1 of 1 are ready\n") ? log : undefined;
  });

  const said = log.split("\n").map((line) => line.replace(/^\S+ /, ""));
  for (const line of [
    "replica 1 is added: 1 replica is configured",
    "replica 1: PROVISIONING: cluster chat-1 is being created",
    "replica 1: READY: it answers its probe",
    "READY: 1 of 1 are ready",
  ])
    assert.ok(said.includes(line), `${line} in\n${log}`);
});

test("a log is followed until its service is gone", async (t) => {
  const bed = await withService(t, one);
  await bed.untilService("READY");

  // Its line is written once the move is.
  await until(async () => / READY: /.test(await read(bed, { target: "controller" })) || undefined);
  const given = ask({ target: "controller", follow: true, tail: 1 });
  const { body } = await bed.world.open("POST", "/serve/logs", { body: given });
  const lines = createInterface({ input: Readable.from(body) })[Symbol.asyncIterator]();
  assert.match((await lines.next()).value ?? "", / READY: /);

  await bed.world.run(rows.down, { service_names: "chat", all: false });
  let last = "";
  for await (const line of lines) last = line;
  assert.match(last, /GONE: down by /);
});

test("of the balancer's log the last lines", async (t) => {
  const bed = await withService(t, one);
  const file = balancerLogOf(bed.world.ctx, (await bed.service()).id);
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, "first\nsecond\nthird\n");

  assert.equal(await read(bed, { target: "load_balancer", tail: 2 }), "second\nthird\n");
  assert.equal(await read(bed, { target: "load_balancer" }), "first\nsecond\nthird\n");
});

test("of a replica what was told while it was brought up, then what its job prints, to its end", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReady(1);
  const agent = await agentOf(bed, 1);
  agent.print(1, "hello\n");

  const followed = await open(bed, { target: "replica", replica_id: 1, follow: true });
  agent.print(1, "world\n");
  agent.end(1, "FAILED");

  assert.equal(await followed.text, "Job submitted, ID: 1\nhello\nworld\n");
});

test("the log of a replica says when its lines began, also once its cluster is gone", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReady(1);
  const at = Date.UTC(2026, 0, 31, 12);
  const agent = await agentOf(bed, 1);
  agent.print(1, "hello\n", at);
  const ask = { target: "replica", replica_id: 1 } as const;
  const instants = async (given: Given = {}) =>
    (await read(bed, { ...ask, timestamps: true, ...given })).match(/(?<=<instant>)[^<]*/g);

  const live = await instants();
  agent.end(1, "FAILED");
  await bed.untilReplica(1, "FAILED");
  await bed.world.untilStatus("chat-1", "GONE");
  const kept = await instants();
  const late = await read(bed, { ...ask, since: at / 1_000 + 1 });

  assert.equal(live?.length, 2);
  assert.equal(live?.at(-1), new Date(at).toISOString());
  assert.deepEqual(kept, live);
  assert.equal(late, "Job submitted, ID: 1\n");
});

test("the lines of the controller have their times in them", async (t) => {
  const bed = await withService(t, one);
  const body = { service_name: "chat", follow: false, target: "controller", since: 1 };

  const { status, headers } = await bed.world.http("POST", "/serve/logs", { body });

  assert.equal(status, 200);
  await assert.rejects(bed.world.get(rows.logs, headers["x-skypilot-request-id"] ?? ""), {
    message: "since is for replicas; each line of the controller has its time in it",
  });
});

test("who follows the log of a replica through a teardown is told of it", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReady(1);
  (await agentOf(bed, 1)).print(1, "hello\n");

  const followed = await open(bed, { target: "replica", replica_id: 1, follow: true });
  await bed.world.run(rows.down, { service_names: ["chat"] });

  assert.match(await followed.text, /\nhello\nreplica 1 is removed: down by \S+\n$/);
});

test("the log of a replica that failed, and of one that is gone, can still be read", async (t) => {
  const bed = await withService(t, one);
  await bed.untilReady(1);
  const agent = await agentOf(bed, 1);
  agent.print(1, "why it failed\n");
  agent.end(1, "FAILED");
  await bed.untilReplica(1, "FAILED");
  await bed.world.untilStatus("chat-1", "GONE");
  const whole = "Job submitted, ID: 1\nwhy it failed\n";

  assert.equal(await read(bed, { target: "replica", replica_id: 1 }), whole);
  assert.equal(await read(bed, { target: "replica", replica_id: 1, follow: true }), whole);
  assert.equal(await read(bed, { target: "replica", replica_id: 1, tail: 1 }), "why it failed\n");
  await bed.world.run(rows.terminateReplica, {
    ...{ service_name: "chat", replica_id: 1, purge: true },
  });
  await bed.untilReplica(1, "GONE");
  assert.equal(await read(bed, { target: "replica", replica_id: 1 }), whole);
});

test("the log of a job is kept once, whenever control was killed", async (t) => {
  const bed = await withService(t, one, { config: { headPatienceSeconds: 0 } });
  await bed.untilReady(1);
  const agent = await agentOf(bed, 1);
  agent.print(1, "once\n");
  const release = bed.world.provider.holds("destroy");
  agent.end(1, "FAILED");
  await bed.world.provider.held("destroy");
  const { clusterId } = await bed.replica(1);
  bed.world.provider.agentsStart = false;
  await bed.world.provider.silence(clusterId ?? "", 0);
  // As though control had been killed between the log and the wish.
  await writable(bed.world.ctx)
    .updateTable("clusters")
    .set({ wanted: "UP" })
    .where("id", "=", clusterId ?? "")
    .execute();

  const after = await bed.crash();
  release();
  await after.world.untilStatus("chat-1", "GONE");

  const log = await read(after, { target: "replica", replica_id: 1 });
  assert.equal(log, "Job submitted, ID: 1\nonce\n");
});

for (const given of [
  { target: "replica" },
  { target: "controller", replica_id: 1 },
  { target: "load_balancer", replica_id: 1 },
] as const)
  test(`${JSON.stringify(given)} does not say whose log is wanted`, async (t) => {
    const bed = await withService(t, one);

    const log = bed.world.run(rows.logs, { ...given, service_name: "chat" });

    await assert.rejects(log, { message: /^replica_id is required for the target replica/ });
  });

test("why there is no log is its text for who does not follow: such clients ask for no result", async (t) => {
  const { world } = await withService(t, one);
  for (const follow of [false, true]) {
    const body = ask({ target: "replica", replica_id: 9, follow });
    const { text, headers } = await world.http("POST", "/serve/logs", { body });

    const why = "service chat has no replica 9";
    assert.equal(text, follow ? "" : `${why}\n`);
    const id = String(headers["x-outrigger-request-id"]);
    await assert.rejects(world.get(rows.logs, id), { type: "NotFoundError", message: why });
  }
});

test("that text names the commands of its reader", async (t) => {
  const { world } = await withService(t, one);
  const headers = { "x-skypilot-api-version": "49" };
  const body = { ...ask({ target: "replica", replica_id: 1 }), service_name: "none" };

  const { text } = await world.http("POST", "/serve/logs", { body, headers });

  assert.equal(text, "there is no service none; list them with: sky serve status\n");
});

test("logs are copied for a download, those of one replica too", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  (await agentOf(bed, 2)).print(1, "from two\n");
  const download = (
    more: Pick<GivenInputOf<typeof rows.downloadLogs>, "targets" | "replica_ids">,
  ) => bed.world.run(rows.downloadLogs, { service_name: "chat", local_dir: "", ...more });
  const folder = downloadsOf(bed.world.ctx, (await bed.service()).user.id);
  const place = (path: string) => join(folder, belowDownloads(path) ?? "");

  const all = place(await download({ targets: null }));
  bed.world.advance(1_000);
  const two = place(await download({ targets: "replica", replica_ids: [2] }));

  assert.deepEqual(readdirSync(all).sort(), [
    ...["controller.log", "load_balancer.log", "replica_1.log", "replica_2.log"],
  ]);
  assert.deepEqual(readdirSync(two), ["replica_2.log"]);
  assert.match(readFileSync(join(two, "replica_2.log"), "utf8"), /from two\n$/);
  await assert.rejects(download({ targets: "replica", replica_ids: [9] }), {
    type: "NotFoundError",
    message: "service chat has no replica 9",
  });
});
