import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";

const moves = [
  { reason: "INIT → UP: every node runs", transitioned_at: 10 },
  { reason: "UP → STOPPED: all off", transitioned_at: 40 },
];
const remarks = [
  { reason: "node 0 is made", transitioned_at: 5 },
  { reason: "hook 1 of 3 (stop) succeeded after 1.0 s", transitioned_at: 20 },
];
const failed = { reason: "hook 2 of 3 (stop) exited with 3 after 1.0 s", transitioned_at: 21 };
const ofType: Record<string, object[]> = {
  STATUS_CHANGE: moves,
  DEBUG: [...remarks, failed],
  NOTEWORTHY: [moves[0] ?? {}, failed, moves[1] ?? {}],
};

/** A control plane with these events; each request is named after their kind. */
const events: Handler = ({ body }, res) =>
  void res.setHeader("x-skypilot-request-id", String(body["event_type"])).end("null");
const answers: Handler = ({ query }, res) => {
  const found = ofType[query.get("request_id") ?? ""];
  sendJson(res, 200, { return_value: JSON.stringify(found) });
};

/** A command line, and when happened what it shows. */
const shown: readonly [string, number[]][] = [
  ["events dev", [10, 21, 40]],
  ["events dev --debug", [5, 10, 20, 21, 40]],
  ["events dev -n 2", [21, 40]],
];

for (const [line, wanted] of shown)
  test(`\`outrigger ${line}\` shows what happened, in its order`, async (t) => {
    const routes = { "POST /cluster_events": events, "GET /api/get": answers };
    const control = await fakeControl(t, routes);
    const outrigger = await commandLine(t, control.endpoint);

    const { stdout } = await outrigger([...wordsOf(line), "-o", "json"]);

    const rows: { at: string; from: string | null; to: string | null }[] = JSON.parse(stdout);
    assert.deepEqual(
      rows.map(({ at }) => Date.parse(at) / 1_000),
      wanted,
    );
    assert.deepEqual([rows.at(-1)?.from, rows.at(-1)?.to], ["UP", "STOPPED"]);
  });

test("events of a cluster that there was not, or of none", async (t) => {
  const error = { type: "ValueError", message: "there was no cluster nosuch" };
  const control = await fakeControl(t, { "POST /cluster_events": { error } });
  const outrigger = await commandLine(t, control.endpoint);

  const unknown = await outrigger(["events", "nosuch"]);
  const unnamed = await outrigger(["events"]);

  assert.deepEqual([unknown.code, unknown.stderr], [3, "error: there was no cluster nosuch\n"]);
  assert.deepEqual(
    [unnamed.code, unnamed.stderr],
    [2, "error: name the cluster: outrigger events CLUSTER\n"],
  );
});

test("why something happened is told whole at a narrow terminal, and on one line elsewhere", async (t) => {
  const reason = `hook 1 of 3 (stop) exited with 3; ${"it printed a lot ".repeat(6).trim()}`;
  const told = { result: [{ reason, transitioned_at: 20 }] };
  const control = await fakeControl(t, { "POST /cluster_events": told });
  const outrigger = await commandLine(t, control.endpoint);

  const narrow = await outrigger(["events", "dev"], { columns: 60, env: { NO_COLOR: "1" } });
  const piped = await outrigger(["events", "dev"]);

  assert.ok(narrow.stdout.replaceAll(/\s+/g, " ").includes(reason));
  for (const line of narrow.stdout.split("\n")) assert.ok(line.length <= 60, line);
  assert.ok(piped.stdout.includes(`  ${reason}\n`));
});
