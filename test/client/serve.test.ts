import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ServiceStatusRecord } from "../../contract/records/services.ts";
import { zipOf } from "../control/uploads/zips.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { type Ending, fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";
import { aReplica, aService, crash } from "./services.ts";

const showLog: Handler = ({ body }, res) =>
  void res.writeHead(200, { "x-skypilot-request-id": "log-1" }).end(`${body["target"]}\n`);
const logEnds: Handler = (_seen, res) => void res.end(JSON.stringify({ return_value: "0" }));
const chat: Ending = { result: [aService()] };
const usual: Routes = {
  "POST /serve/status": chat,
  "POST /serve/down": {},
  "POST /serve/terminate-replica": {},
};
const logs: Routes = { "POST /serve/logs": showLog, "GET /api/get": logEnds };

/** A command line, the route that it must call, and fields that the call must carry. */
const calls: readonly [string, string, object][] = [
  ["serve status", "POST /serve/status", { service_names: null }],
  ["serve status 'ch*'", "POST /serve/status", { service_names: ["ch*"] }],
  ["serve down chat", "POST /serve/down", { service_names: ["chat"], all: false, purge: false }],
  ["serve down -a -y -p", "POST /serve/down", { service_names: ["chat"], purge: true }],
  [
    "serve down chat --replica-id 2 -p",
    "POST /serve/terminate-replica",
    { service_name: "chat", replica_id: 2, purge: true },
  ],
  ["serve logs chat 2", "POST /serve/logs", { target: "replica", replica_id: 2, follow: true }],
  [
    "serve logs chat --controller --no-follow",
    "POST /serve/logs",
    { target: "controller", replica_id: null, follow: false },
  ],
  [
    "serve logs chat --load-balancer --tail 5",
    "POST /serve/logs",
    { target: "load_balancer", tail: 5 },
  ],
];

for (const [line, route, fields] of calls)
  test(`\`outrigger ${line}\` calls ${route}`, async (t) => {
    const control = await fakeControl(t, { ...usual, ...(route === "POST /serve/logs" && logs) });
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, 0, stderr);
    assert.partialDeepStrictEqual(control.to(route)[0]?.body, fields);
  });

/** Command lines that are not understood, and why. */
const mistakes: readonly [string, number, RegExp][] = [
  ["serve up", 2, /say what to serve/],
  ["serve down", 2, /name the services to take down, or say --all/],
  ["serve down other", 3, /there is no service other; list them with: outrigger serve status/],
  ["serve down 'ch*'", 2, /Take down chat\? There is no terminal to ask on/],
  ["serve down chat other --replica-id 1", 2, /--replica-id takes the name of one service/],
  ["serve logs chat 1 --controller", 2, /name one part, or none for every replica/],
  ["serve logs chat 1 2", 2, /name one part, or none for every replica/],
  ["serve logs chat one", 2, /one is not a replica's id/],
  ["serve status other", 3, /there is no service other/],
];

for (const [line, exit, said] of mistakes)
  test(`\`outrigger ${line}\` ends with ${exit}`, async (t) => {
    const control = await fakeControl(t, usual);
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, exit);
    assert.match(stderr, said);
    assert.equal(control.to("POST /serve/down").length, 0);
  });

test("who takes a service or a replica down is asked, and an empty answer is a no", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  const service = await outrigger(["serve", "down", "chat"], { typed: "\n" });
  const replica = await outrigger(wordsOf("serve down chat --replica-id 1"), { typed: "\n" });

  assert.deepEqual([service.code, replica.code], [1, 1]);
  assert.match(service.stderr, /Take down chat\? \[y\/N\]/);
  assert.match(replica.stderr, /Terminate replica 1 of chat\? \[y\/N\]/);
  assert.ok(control.seen.every(({ path }) => !/down|terminate/.test(path)));
});

/** A service that came back from its second version, as its replicas crashed. */
const troubled = aService({
  version: 2,
  given_up: "3 replicas of version 2 failed",
  target_num_replicas: 3,
  replica_info: [
    aReplica(12, { version: 2, status: "FAILED", status_reason: crash }),
    aReplica(2),
    aReplica(14, { version: 2, status: "FAILED", status_reason: crash }),
    aReplica(13, { version: 2, status: "STARTING", status_reason: "its task was submitted" }),
  ],
});

test("serve status shows services, their replicas, and why some fail, within the terminal", async (t) => {
  const control = await fakeControl(t, { "POST /serve/status": { result: [troubled] } });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["serve", "status"]);
  const narrow = await outrigger(["serve", "status"], { columns: 66, env: { NO_COLOR: "1" } });

  assert.match(stdout, /^chat +1 +READY +1\/2 +http:\/\/127\.0\.0\.1:30001 +\d+d \d+h$/m);
  const ids = [...stdout.matchAll(/^chat +(\d+) +\d +[A-Z]/gm)].map(([, id]) => id);
  assert.deepEqual(ids, ["2", "12", "13", "14"]);
  const reasons = `chat version 2: given up: 3 replicas of version 2 failed
chat replicas 12, 14 FAILED: run exited with 1; it printed last:
    loading
    out of memory
chat replica 13 STARTING: its task was submitted
`;
  assert.equal(stdout.slice(-reasons.length), reasons);
  const lines = narrow.stdout.split("\n");
  assert.deepEqual(
    lines.filter((line) => line.length > 66),
    [],
  );
});

test("serve status says why a service is as it is where its replicas do not say that", async (t) => {
  const named = (name: string, status: ServiceStatusRecord["status"], status_reason: string) =>
    aService({ name, status, status_reason, replica_info: [] });
  const result = [
    named("a", "READY", "2 of 2 are ready"),
    named("b", "FAILED", "replica 1: out of memory"),
    named("c", "NO_REPLICA", "0.0 requests/s need 0 replicas at 1 each"),
    named("d", "CONTROLLER_FAILED", "port 30001 is taken"),
  ];
  const control = await fakeControl(t, { "POST /serve/status": { result } });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["serve", "status"]);

  const reasons = `
c NO_REPLICA: 0.0 requests/s need 0 replicas at 1 each
d CONTROLLER_FAILED: port 30001 is taken
`;
  assert.equal(stdout.slice(-reasons.length - 1), `\n${reasons}`);
});

test("serve status shows that a service is on its way to another version", async (t) => {
  const result = [aService({ version: 2 })];
  const control = await fakeControl(t, { "POST /serve/status": { result } });
  const outrigger = await commandLine(t, control.endpoint);

  assert.match((await outrigger(["serve", "status"])).stdout, /^chat +1→2 +READY/m);
});

test("serve status -v says why a service should have so many replicas", async (t) => {
  const target_reason = "2.0 requests/s need 2 replicas at 1 each";
  const policy = `Autoscaling from 1 to 3 replicas; 2 now: ${target_reason}`;
  const result = [aService({ policy, target_reason }), aService({ name: "other" })];
  const control = await fakeControl(t, { "POST /serve/status": { result } });
  const outrigger = await commandLine(t, control.endpoint);

  const [brief, whole] = [
    await outrigger(["serve", "status"]),
    await outrigger(wordsOf("serve status -v")),
  ];

  assert.ok(!brief.stdout.includes(target_reason));
  assert.match(whole.stdout, /^NAME .* POLICY +WHY SO MANY$/m);
  assert.match(whole.stdout, new RegExp(`^chat .* from 1 to 3 replicas +${target_reason}$`, "m"));
  assert.match(whole.stdout, /^other .* -$/m);
});

test("serve status prints the address alone, or everything as JSON", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  const address = await outrigger(["serve", "status", "chat", "--endpoint"]);
  const json = await outrigger(["serve", "status", "-o", "json"]);

  assert.equal(address.stdout, "http://127.0.0.1:30001\n");
  const [{ endpoint, replicas }] = JSON.parse(json.stdout);
  assert.deepEqual([endpoint, replicas.length], ["http://127.0.0.1:30001", 2]);
});

/** What `serve logs` with these words asks to be gathered. */
const gathered: readonly [string, object][] = [
  ["", { targets: [], replica_ids: [], tail: null }],
  ["--tail 5 --controller", { targets: ["controller"], replica_ids: [], tail: 5 }],
  [
    "1 3 --load-balancer",
    { targets: ["load_balancer", "replica"], replica_ids: [1, 3], tail: null },
  ],
];

test("serve logs -s writes each log that control gathers to a file of its own", async (t) => {
  const logs = { "controller.log": "why\n", "replica_1.log": "loading\n" };
  const zip = await zipOf(logs);
  const control = await fakeControl(t, {
    "POST /serve/sync-down-logs": { result: "~/logs/service-chat" },
    "POST /download": (_seen, res) => void res.end(zip),
  });
  const outrigger = await commandLine(t, control.endpoint);
  const { HOME = "" } = process.env;
  process.env["HOME"] = outrigger.folder;
  t.after(() => {
    process.env["HOME"] = HOME;
  });

  for (const [at, [words, fields]] of gathered.entries()) {
    const line = wordsOf(`serve logs chat -s ${words}`.trimEnd());
    const { code, stdout, stderr } = await outrigger(line);

    assert.equal(code, 0, stderr);
    const { targets, replica_ids, tail } = control.to("POST /serve/sync-down-logs")[at]?.body ?? {};
    assert.deepEqual({ targets, replica_ids, tail }, fields);
    const place = join(outrigger.folder, "outrigger_logs/chat");
    const files = Object.keys(logs).map((name) => join(place, name));
    assert.equal(stdout, `${files.join("\n")}\n`);
    assert.deepEqual(
      files.map((file) => readFileSync(file, "utf8")),
      Object.values(logs),
    );
  }
  const [asked] = control.to("POST /download");
  assert.deepEqual(asked?.body["folder_paths"], ["~/logs/service-chat"]);
  assert.equal(asked?.query.get("relative"), "items");
});

test("serve logs -s says why control gathers nothing", async (t) => {
  const message = "service chat has no replica 9";
  const error = { type: "NotFoundError", message };
  const control = await fakeControl(t, { "POST /serve/sync-down-logs": { error } });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(wordsOf("serve logs chat 9 -s"));

  assert.deepEqual([code, stdout], [3, ""]);
  assert.match(stderr, new RegExp(message));
});

/** What `serve logs --no-follow` is sent, how its request ends, and what is shown of it. */
const unfollowed: readonly [string, string | undefined, string, RegExp][] = [
  ["there is no service nosuch\n", "there is no service nosuch", "", /^error: there is no service/],
  ["one line\n", undefined, "one line\n", /^$/],
  ["one line\n", "the node is silent", "one line\n", /^error: the node is silent/],
];

for (const [sent, message, shown, told] of unfollowed)
  test(`of a log ${JSON.stringify(sent)} that ends with ${message} all is said once`, async (t) => {
    const error = message === undefined ? null : { type: "NotFoundError", message };
    const control = await fakeControl(t, {
      "POST /serve/logs": (_seen, res) =>
        void res.writeHead(200, { "x-skypilot-request-id": "log-1" }).end(sent),
      "GET /api/get": (_seen, res) =>
        sendJson(res, 200, { return_value: "0", error: JSON.stringify(error) }),
    });
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stdout, stderr } = await outrigger(wordsOf("serve logs nosuch 1 --no-follow"));

    assert.deepEqual([code, stdout], [message === undefined ? 0 : 3, shown]);
    assert.match(stderr, told);
  });

test("names of services are completed", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  assert.equal((await outrigger(["complete", "=ch", "serve", "down"])).stdout, "chat\n");
  assert.equal((await outrigger(["complete", "=x", "serve", "down"])).stdout, "");
});

test("serve status shows once what many printed alike, though their numbers differ", async (t) => {
  const why = (port: number) => `run exited with 1; it printed last:\nport ${port} at 0x7f${port}`;
  const status = "FAILED" as const;
  const service = aService({
    version: 2,
    given_up: `3 replicas of version 2 failed; the latest: ${why(1)}`,
    replica_info: [3, 4].map((id) => aReplica(id, { status, status_reason: why(id) })),
  });
  const control = await fakeControl(t, { "POST /serve/status": { result: [service] } });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["serve", "status"]);

  assert.equal(stdout.match(/ at 0x7f/g)?.length, 1);
  for (const id of [3, 4])
    assert.match(stdout, new RegExp(`^chat replica ${id} FAILED: .*; it printed the same$`, "m"));
});
