import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { sql } from "kysely";
import { clusterOperations as clusters } from "../../contract/operations/clusters.ts";
import type { EventRecord } from "../../contract/records/events.ts";
import { openReader } from "../../control/event-stream.ts";
import { addEvent, type NewEvent } from "../../control/events.ts";
import { openEvents } from "../helpers/event-reader.ts";
import { testWorld, type World } from "../helpers/world.ts";
import { writable } from "../helpers/writable.ts";

const launch = (name: string, task = "run: 'true'") => ({ cluster_name: name, task });
const enters = (status: string) => (event: EventRecord) => event.to === status;
const idsOf = (events: readonly EventRecord[]) => events.map(({ id }) => id);

const remark = (world: World, more: Partial<NewEvent> = {}) =>
  world.ctx.batch((tx) =>
    addEvent(tx, { noun: "cluster", id: "x", reason: "a remark", at: new Date(), ...more }),
  );

/** Adds many events of this many characters. */
const fill = (world: World, count: number, characters: number) =>
  sql`INSERT INTO events (noun, subject_id, reason, at)
      SELECT 'cluster', 'x', ${"r".repeat(characters)}, 0
      FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n)`.execute(
    world.ctx.db,
  );

test("events come as they happen, named, in the order of their ids", async (t) => {
  const world = await testWorld(t);
  const reader = await openEvents(world);
  await world.run(clusters.launch, launch("demo"));

  const events = await reader.until(enters("UP"));
  const up = events.at(-1);

  assert.deepEqual(
    [up?.noun, up?.name, up?.from, up?.noteworthy],
    ["cluster", "demo", "INIT", true],
  );
  assert.equal(up?.subject, (await world.cluster("demo")).id);
  assert.deepEqual(
    idsOf(events),
    idsOf(events).toSorted((a, b) => a - b),
  );
  assert.ok(Math.abs(Number(up?.at) * 1_000 - Date.now()) < 60_000);
});

test("a reader that comes back with its last id sees each event once, also after a restart", async (t) => {
  const world = await testWorld(t);
  const first = await openEvents(world);
  await world.run(clusters.launch, launch("demo"));
  const before = await first.until(enters("UP"));
  first.close();
  await world.run(clusters.stop, { cluster_name: "demo" });

  const second = await openEvents(world, "", { "last-event-id": String(before.at(-1)?.id) });
  const meanwhile = await second.until(enters("STOPPED"));
  const after = await world.crash();
  await after.run(clusters.start, { cluster_name: "demo" });
  const third = await openEvents(after, `since=${meanwhile.at(-1)?.id}`);
  const last = await third.until(enters("UP"));

  const whole = await openEvents(after, "since=0&follow=false");
  const all = idsOf(await whole.rest());
  const seen = idsOf([...before, ...meanwhile, ...last]);
  assert.deepEqual(seen, all.slice(0, seen.length));
  assert.equal(new Set(seen).size, seen.length);
});

test("the header of a browser that connects again goes before the query", async (t) => {
  const world = await testWorld(t);
  for (const reason of ["one", "two", "three"]) await remark(world, { reason });

  const reader = await openEvents(world, "since=0&follow=false", { "last-event-id": "2" });

  assert.deepEqual(
    (await reader.rest()).map(({ reason }) => reason),
    ["three"],
  );
});

test("events are filtered by noun, by name, and by what people should not miss", async (t) => {
  const world = await testWorld(t);
  for (const name of ["a", "b"]) await world.run(clusters.launch, launch(name));
  const a = (await world.cluster("a")).id;
  await remark(world, { noun: "service", id: "s" });
  await remark(world, { id: a, reason: "look here", isNoteworthy: true });
  const read = async (query: string) =>
    (await openEvents(world, `since=0&follow=false&${query}`)).rest();

  const ofA = await read("name=a");
  const ofServices = await read("noun=service");
  const noteworthy = await read("name=a&noun=cluster&noteworthy=true");

  assert.deepEqual([...new Set(ofA.map(({ subject }) => subject))], [a]);
  assert.deepEqual(
    ofServices.map(({ subject, name }) => [subject, name]),
    [["s", null]],
  );
  assert.ok(ofA.some((event) => !event.noteworthy));
  assert.deepEqual(
    noteworthy.map(({ to, reason }) => to ?? reason),
    ["UP", "look here"],
  );
  assert.deepEqual(await read("name=a&noun=replica"), []);
});

test("a commit wakes those who wait for events, and what is forgotten does not stop them", async (t) => {
  const world = await testWorld(t);
  await fill(world, 1_000, 1);
  await world.ctx.batch((tx) => tx.deleteFrom("events").where("seq", ">", 100).execute());
  const all = { noun: null, name: null, noteworthy: false, workspaces: null, follow: true };
  const reader = openReader(world.ctx, 100, all, AbortSignal.timeout(60_000), 2 ** 30);

  const next = reader.next();
  await new Promise(setImmediate);
  await remark(world);

  assert.deepEqual(idsOf((await next) ?? []), [1_001]);
});

test("a stream from which all is filtered goes on from where it is", async (t) => {
  const world = await testWorld(t);
  await fill(world, 1_000, 1);

  const reader = await openEvents(world, "since=0&name=nosuch&follow=false");

  assert.deepEqual(await reader.rest(), []);
  const quiet = { noun: null, name: "nosuch", noteworthy: false, workspaces: null, follow: true };
  const position = openReader(world.ctx, 0, quiet, AbortSignal.timeout(60_000), 1);
  assert.deepEqual(await position.next(), []);
  assert.equal(position.position(), 1_000);
});

test("a stream may begin with the newest events that fit", async (t) => {
  const world = await testWorld(t);
  for (const reason of ["one", "two", "three"]) await remark(world, { noun: "service", reason });
  await fill(world, 500, 1);
  const read = async (query: string) =>
    (await (await openEvents(world, `follow=false&${query}`)).rest()).map(({ reason }) => reason);

  assert.deepEqual(await read("tail=2&noun=service"), ["two", "three"]);
  assert.deepEqual(await read("tail=9&noun=service"), ["one", "two", "three"]);
  assert.equal((await read("tail=300")).length, 300);
  assert.deepEqual(await read("tail=2&noun=service&since=2"), ["three"]);
});

test("an id is never given twice, also when the newest events are forgotten", async (t) => {
  const world = await testWorld(t);
  await remark(world);
  await remark(world);
  await writable(world.ctx).deleteFrom("events").execute();
  const reader = await openEvents(world);
  await remark(world);

  assert.deepEqual(idsOf(await reader.until(() => true)), [3]);
});

test("an id that does not exist yet is refused, and says why", async (t) => {
  const world = await testWorld(t);
  await remark(world);

  const { status, json } = await world.http("GET", "/events?since=2");

  assert.equal(status, 400);
  assert.match(String(json["detail"]), /since: there is no event 2 yet, the newest is 1/);
});

test("beyond the cap a stream is refused, until another one ends", async (t) => {
  const world = await testWorld(t, { config: { eventStreamsAtMost: 1 } });
  const reader = await openEvents(world);
  const [open] = world.ctx.eventStreams;

  const refused = await world.http("GET", "/events");
  assert.ok(open);
  const closed = new Promise((resolve) => open.once("close", resolve));
  reader.close();
  await closed;
  const again = await openEvents(world, "follow=false");

  assert.equal(refused.status, 503);
  assert.match(String(refused.json["detail"]), /too many event streams/);
  assert.deepEqual(await again.rest(), []);
});

test("a reader that takes nothing is ended, and nothing is read ahead for it", async (t) => {
  const world = await testWorld(t, { config: { stalledSeconds: 0.2 } });
  await fill(world, 20_000, 2_000);
  const before = process.memoryUsage().rss;
  const socket = connect(`${world.home}.sock`);
  t.after(() => socket.destroy());
  socket.pause();
  socket.write("GET /events?since=0 HTTP/1.1\r\nhost: localhost\r\n\r\n");
  while (world.ctx.eventStreams.size === 0) await new Promise(setImmediate);
  const [body] = world.ctx.eventStreams;
  assert.ok(body);

  const [error] = await once(body, "error");
  const grown = process.memoryUsage().rss - before;

  assert.match(String(error), /does not read/);
  assert.equal(world.ctx.eventStreams.size, 0);
  assert.ok(grown < 20_000_000, `${grown} bytes for a log of 40 MB`);
});

test("no secret of a task is in the stream", async (t) => {
  const secret = "s3cr3t-value-of-the-user";
  const world = await testWorld(t);
  const task = `{run: 'true', secrets: {TOKEN: ${secret}}}`;
  const entrypoint_command = `launch --secret TOKEN=${secret} task.yaml`;
  await world.run(clusters.launch, { ...launch("demo", task), entrypoint_command });
  await world.run(clusters.down, { cluster_name: "demo" });

  const { text } = await world.http("GET", "/events?since=0&follow=false");

  assert.match(text, /"to":"GONE"/);
  assert.ok(!text.includes(secret));
});

test("a move names the user whose wish it carries out; of what control makes by itself, nobody", async (t) => {
  const world = await testWorld(t);
  const [ann, ben] = [await world.as("ann"), await world.as("ben")];
  await ann.run(clusters.launch, { cluster_name: "demo", task: "run: 'true'" });
  await ben.run(clusters.down, { cluster_name: "demo" });

  const { events } = await world.ctx.eventLog.read(0);

  assert.deepEqual(
    events.flatMap(({ from, to, actor }) => (to === null ? [] : [[from, to, actor]])),
    [
      ["INIT", "UP", "ann"],
      ["UP", "GONE", "ben"],
    ],
  );
});
