import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";
import { aService } from "./services.ts";

const erase = "\u001b[H\u001b[2J";

/** A control plane that finds the cluster in one status after another; a look and an event each. */
function changing(...statuses: readonly (string | undefined)[]) {
  let looks = 0;
  const result: Handler = (_seen, res) => {
    const status = statuses[Math.min(looks, statuses.length - 1)];
    looks += 1;
    if (status === undefined) return sendJson(res, 503, { detail: "away" });
    const found = [{ name: "dev", status, resources_str: "1x", autostop: -1 }];
    return sendJson(res, 200, { return_value: JSON.stringify(found) });
  };
  const events: Handler = (_seen, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" }).write("id: 1\n\n");
    const ring = setInterval(() => {
      res.write(`id: ${looks}\ndata: {}\n\n`);
    }, 20);
    res.once("close", () => clearInterval(ring));
  };
  return {
    "POST /status": ((_seen, res) => {
      res.setHeader("x-skypilot-request-id", "status").end("null");
    }) as Handler,
    "GET /api/get": result,
    "GET /events": events,
  };
}

test("`outrigger status -w` shows a change when its event comes, and what stays the same once", async (t) => {
  const control = await fakeControl(t, changing("UP", "UP", "STOPPED"));
  const outrigger = await commandLine(t, control.endpoint);
  const interrupt = new AbortController();

  const { code, stdout } = await outrigger(["status", "-w"], {
    signal: interrupt.signal,
    onAnswer: (text) => void (text.includes("STOPPED") && interrupt.abort()),
  });

  assert.equal(code, 130);
  assert.equal(stdout.match(/NAME/g)?.length, 2);
  assert.ok(stdout.indexOf(" UP ") < stdout.indexOf(" STOPPED "), stdout);
  assert.ok(!stdout.includes(erase));
});

test("at a terminal each look takes the place of the one before, and control may be away", async (t) => {
  const control = await fakeControl(t, changing("UP", undefined, "STOPPED"));
  const outrigger = await commandLine(t, control.endpoint);
  const interrupt = new AbortController();

  const { stdout, stderr } = await outrigger(["status", "-w"], {
    columns: 100,
    signal: interrupt.signal,
    onAnswer: (text) => void (text.includes("STOPPED") && interrupt.abort()),
  });

  assert.equal(stdout.split(erase).length, 4);
  assert.match(stderr, /^The control plane does not respond; retrying\.$/m);
});

test("what cannot be shown at all is not watched", async (t) => {
  const error = { type: "ValueError", message: "no" };
  const control = await fakeControl(t, { "POST /status": { error } });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["status", "-w"]);

  assert.deepEqual([code, stderr], [2, "error: no\n"]);
});

/** Commands that are watched, the route that they look at, and what it answers one time after another. */
const watched = [
  [
    "queue dev -w -o json",
    "POST /queue",
    ["PENDING", "RUNNING"].map((status) => [{ job_id: 1, status, metadata: {}, resources: "" }]),
  ],
  [
    "serve status -w -o json",
    "POST /serve/status",
    ["REPLICA_INIT", "READY"].map((status) => [
      aService({ status: status as "READY", replica_info: [] }),
    ]),
  ],
] as const;

for (const [line, route, looks] of watched)
  test(`\`outrigger ${line}\` prints each state on a line`, async (t) => {
    let look = 0;
    const { "GET /events": events } = changing("UP");
    const control = await fakeControl(t, {
      "GET /events": events,
      get [route]() {
        look += 1;
        return { result: looks[Math.min(look, looks.length) - 1] };
      },
    });
    const outrigger = await commandLine(t, control.endpoint);
    const interrupt = new AbortController();

    const { code, stdout } = await outrigger(line.split(" "), {
      signal: interrupt.signal,
      onAnswer: (text) => void (text.split("\n").length > 2 && interrupt.abort()),
    });

    const states = stdout.trimEnd().split("\n");
    assert.equal(code, 130);
    assert.deepEqual(
      states.map((text) => JSON.parse(text)[0].status),
      looks.map(([{ status } = { status: "" }]) => status),
    );
  });
