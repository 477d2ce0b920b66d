import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { readEvents } from "../../client/event-source.ts";
import { eventForm } from "../../client/output/jobs.ts";
import { openClient } from "../../client/sdk.ts";
import type { EventRecord } from "../../contract/records/events.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";

const record = (id: number, more: Partial<EventRecord> = {}): EventRecord => ({
  ...{
    id,
    noun: "cluster",
    name: "dev",
    replica: null,
    job_id: null,
    subject: "x",
    from: null,
    to: null,
  },
  ...{ reason: `event ${id}`, actor: null, noteworthy: true, at: 1_700_000_000 + id },
  ...more,
});

const block = (event: EventRecord) => `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;

/** A connection that sends these blocks, and then is broken, or ends, or stays. */
interface Connection {
  readonly sends: readonly string[];
  readonly next: "breaks" | "ends" | "stays";
}

/** A control plane whose stream of events is these connections, one after another. */
function streaming(connections: readonly Connection[]): Handler {
  const left = [...connections];
  return (_seen, res: ServerResponse) => {
    const connection = left.shift();
    if (connection === undefined) return sendJson(res, 400, { detail: "no such event" });
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(connection.sends.join(""), () => {
      if (connection.next === "ends") res.end();
      if (connection.next === "breaks") res.destroy();
    });
  };
}

const inTime = { origin: "outrigger test", delaysMs: [1, 1, 1] };

test("events go on after the last one when the connection breaks or ends", async (t) => {
  const control = await fakeControl(t, {
    "GET /events": streaming([
      { sends: ["retry: 1000\nid: 4\n\n", block(record(5)), block(record(6))], next: "breaks" },
      { sends: ["id: 6\n\n", "id: 9\n\n"], next: "ends" },
      { sends: ["id: 9\n\n", block(record(10))], next: "stays" },
    ]),
  });
  const client = openClient({ ...inTime, endpoint: control.endpoint });
  t.after(() => client.close());
  const seen: number[] = [];

  for await (const { id } of client.events({ name: "dev", tail: 2 })) {
    seen.push(id);
    if (id === 10) break;
  }

  assert.deepEqual(seen, [5, 6, 10]);
  const asked = control.to("GET /events").map(({ query }) => query.get("since"));
  assert.deepEqual(asked, [null, "6", "9"]);
});

test("a stream that cannot go on ends with what control says, and a first one that is refused, too", async (t) => {
  const control = await fakeControl(t, {
    "GET /events": streaming([{ sends: ["id: 4\n\n"], next: "breaks" }]),
  });
  const client = openClient({ ...inTime, endpoint: control.endpoint });
  t.after(() => client.close());
  const read = () => client.events({}).next();

  for (const _ of ["resumed", "first"])
    await assert.rejects(read, { type: "ValueError", message: "no such event" });

  assert.equal(control.to("GET /events").length, 3);
});

test("an event may come in pieces of any size", async () => {
  const sent = Buffer.from(`id: 1\n\nid: 2\ndata: "→ é"\n\nid: 3`);
  async function* bytes() {
    for (const byte of sent) yield Buffer.of(byte);
  }

  const read: unknown[] = [];
  for await (const event of readEvents(bytes())) read.push(event);

  assert.deepEqual(read, [
    { id: "1", data: undefined },
    { id: "2", data: '"→ é"' },
  ]);
});

const happened = [
  record(1, { from: "INIT", to: "UP", reason: "every node runs" }),
  record(2, { noun: "replica", name: "chat", replica: 3, reason: "is ready" }),
];

/** Runs `outrigger events -f …` until it has shown what there is. */
async function followed(t: Parameters<typeof fakeControl>[0], words: readonly string[]) {
  const sends = ["id: 0\n\n", ...happened.map(block)];
  const interrupt = new AbortController();
  const control = await fakeControl(t, {
    "POST /cluster_events": { result: [] },
    "GET /events": streaming([{ sends, next: "stays" }]),
  });
  const outrigger = await commandLine(t, control.endpoint);
  const shown = outrigger(["events", "-f", ...words], {
    signal: interrupt.signal,
    onAnswer: (text) => void (text.includes("ready") && interrupt.abort()),
  });
  return { ...(await shown), query: control.to("GET /events")[0]?.query };
}

test("`outrigger events -f` shows events as they come, until Ctrl-C", async (t) => {
  const { code, stdout, query } = await followed(t, []);
  const lines = stdout.trimEnd().split("\n");

  assert.equal(code, 130);
  assert.match(lines[0] ?? "", /^[\d-]+ [\d:]+ {2}cluster dev {2}INIT → UP: every node runs$/);
  assert.match(lines[1] ?? "", / {2}service chat replica 3 {2}is ready$/);
  assert.deepEqual([query?.get("tail"), query?.get("noteworthy")], ["0", "true"]);
});

test("of one cluster it begins with the newest, and has JSON a line", async (t) => {
  const { stdout, query } = await followed(t, ["dev", "-n", "3", "--debug", "-o", "json"]);

  assert.deepEqual(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
    happened.map(eventForm.of),
  );
  assert.deepEqual(
    ["name", "noun", "tail", "noteworthy"].map((name) => query?.get(name)),
    ["dev", "cluster", "3", "false"],
  );
});

test("a cluster that there was not is not followed", async (t) => {
  const error = { type: "ValueError", message: "there was no cluster nosuch" };
  const control = await fakeControl(t, { "POST /cluster_events": { error } });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["events", "-f", "nosuch"]);

  assert.deepEqual([code, stderr], [3, "error: there was no cluster nosuch\n"]);
});
