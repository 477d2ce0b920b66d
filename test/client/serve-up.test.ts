import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { judgeUp } from "../../client/commands/serve-up.ts";
import { sendJson } from "./fake-control.ts";
import { aReplica, aService, crash } from "./services.ts";
import { endpoint, key, serving, up } from "./serving.ts";

const made = { status: "PROVISIONING", status_reason: "cluster chat-2 is being created" } as const;
const begins = aService({
  status: "REPLICA_INIT",
  replica_info: [aReplica(1, { status: "STARTING" }), aReplica(2, made)],
});

test("serve up of a task that is no service is refused before anything is asked", async (t) => {
  const { control, outrigger } = await serving(t, []);

  const { code, stderr } = await outrigger(["serve", "up", "echo hello"], { typed: "y\n" });

  assert.equal(code, 2);
  assert.match(stderr, /the task has no `service` section; see docs/);
  assert.doesNotMatch(stderr, /Bring service/);
  assert.deepEqual(control.to("POST /serve/up"), []);
});

test("serve up follows until the service is ready, and says how to ask it without the key", async (t) => {
  const oneReady = aService({ replica_info: [aReplica(1), aReplica(2, { status: "STARTING" })] });
  const { control, outrigger } = await serving(t, [begins, oneReady]);

  const { code, stdout, stderr } = await outrigger(up);

  assert.deepEqual([code, stdout], [0, `${endpoint}\n`]);
  assert.equal(
    stderr,
    `Bringing chat up
Waiting for chat
  replica 1 STARTING
  replica 2 PROVISIONING: cluster chat-2 is being created
  replica 1 READY
  replica 2 STARTING
Service chat READY: 1 of 2 replicas ready; the others are starting
  ask     curl -H "Authorization: Bearer $API_KEY" ${endpoint}/health
  status  outrigger serve status chat
  down    outrigger serve down chat
`,
  );
  const [sent] = control.to("POST /serve/up");
  assert.equal(sent?.body["service_name"], "chat");
  assert.equal(parse(String(sent?.body["task"])).secrets.API_KEY, key);
  assert.doesNotMatch(String(sent?.body["entrypoint_command"]), /very-secret/);
});

test("serve up says what a replica waits for while its cluster is made", async (t) => {
  const status_reason = "waits for its cluster: node 0 pending: no GPU is free";
  const services = [made, made, { ...made, status_reason }].map((of) =>
    aService({ status: "REPLICA_INIT", replica_info: [aReplica(2, of)] }),
  );
  const { outrigger } = await serving(t, [...services, aService()]);

  const { code, stderr } = await outrigger(up);

  assert.equal(code, 0);
  assert.match(
    stderr,
    /replica 2 PROVISIONING: cluster chat-2 is being created\n +replica 2 PROVISIONING: waits for its cluster: node 0 pending: no GPU is free\n/,
  );
});

test("serve up looks when an event of the service comes, and hangs up once it is done", async (t) => {
  const closed = Promise.withResolvers<void>();
  const { control, outrigger } = await serving(t, [...Array(40).fill(begins), aService()], {
    "GET /events": (_seen, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      let id = 0;
      const ring = setInterval(() => res.write(`id: ${++id}\ndata: {}\n\n`), 1);
      res.once("close", () => {
        clearInterval(ring);
        closed.resolve();
      });
    },
  });
  const from = performance.now();

  const { code } = await outrigger(up);

  assert.equal(code, 0);
  // Without events the pauses before 40 looks take more than a minute.
  assert.ok(performance.now() - from < 30_000);
  await closed.promise;
  assert.equal(control.to("GET /events")[0]?.query.get("name"), "chat");
});

test("serve up of a service whose replicas fail says why, once, and ends with 1", async (t) => {
  const failed = { status: "FAILED", status_reason: crash } as const;
  const replicas = [aReplica(1, failed), aReplica(2, failed)];
  const { outrigger } = await serving(t, [
    begins,
    aService({ status: "FAILED", replica_info: replicas }),
  ]);

  const { code, stdout, stderr } = await outrigger(up);

  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /^ {2}replica 1 FAILED: run exited with 1; it printed last:\n {4}loading\n/m,
  );
  assert.equal(stderr.match(/out of memory/g)?.length, 1);
  assert.match(stderr, /^ {2}replica 2 FAILED: run exited with 1; it printed the same$/m);
  assert.match(
    stderr,
    /^error: service chat is FAILED: .* \(replica 2: run exited with 1\); .* outrigger serve down chat$/m,
  );
});

/** How a service that is FAILED has its replicas, and whether there is still hope for it. */
const hopes: readonly [string, Parameters<typeof aReplica>[1][], boolean][] = [
  ["all failed", [{ status: "FAILED" }, { status: "FAILED_PROBING" }], false],
  ["one is starting", [{ status: "FAILED" }, { status: "STARTING" }], true],
  ["those of the version before failed", [{ status: "FAILED", version: 0 }], true],
];

for (const [name, replicas, isHope] of hopes)
  test(`who waits for a service that is FAILED, of which ${name}, ${isHope ? "waits on" : "is told"}`, () => {
    const replica_info = replicas.map((more, at) => aReplica(at + 1, more));
    const verdict = judgeUp(aService({ status: "FAILED", replica_info }));

    assert.equal(verdict === undefined, isHope);
  });

test("what a replica printed last is shown when it is known later than its failure", async (t) => {
  const why = { status: "FAILED_PROBING", status_reason: "no good answer" } as const;
  const first = aService({ status: "REPLICA_INIT", replica_info: [aReplica(1, why)] });
  const status_reason = "no good answer; it printed last:\nout of memory";
  const then = { ...first, replica_info: [aReplica(1, { ...why, status_reason })] };
  const { outrigger } = await serving(t, [first, then, aService({ replica_info: [aReplica(2)] })]);

  const { stderr } = await outrigger(up);

  assert.match(
    stderr,
    /^ {2}replica 1 FAILED_PROBING: no good answer\n {2}replica 1 printed last:\n {4}out of memory\n {2}replica 2/m,
  );
});

test("what a replica waits for is told once, also where it is known later", async (t) => {
  const pending = (status_reason: string) =>
    aService({
      status: "REPLICA_INIT",
      replica_info: [aReplica(1, { status: "PENDING", status_reason })],
    });
  const waits = pending("waits for a machine: nothing offers H100:8 on spot");
  const { outrigger } = await serving(t, [
    pending("1 replica is configured"),
    waits,
    waits,
    aService(),
  ]);

  const { stderr } = await outrigger(up);

  const lines = stderr.split("\n").filter((line) => line.includes("replica 1 PENDING"));
  assert.deepEqual(lines, [
    "  replica 1 PENDING: 1 replica is configured",
    "  replica 1 PENDING: waits for a machine: nothing offers H100:8 on spot",
  ]);
});

test("Ctrl-C leaves a service that comes up alone, and says so", async (t) => {
  const interrupt = new AbortController();
  const { outrigger, looked } = await serving(t, [begins], {
    "GET /api/get": (_seen, res) => {
      const value = looked() > 1 ? [begins] : looked() > 0 ? [begins] : ["chat", endpoint];
      if (looked() > 1) interrupt.abort();
      sendJson(res, 200, { return_value: JSON.stringify(value) });
    },
  });

  const { code, stdout, stderr } = await outrigger(up, { signal: interrupt.signal });

  assert.deepEqual([code, stdout], [130, ""]);
  assert.match(stderr, /^Service chat keeps running\.$/m);
  assert.match(stderr, /outrigger serve down chat/);
});

test("serve up -d does not wait, and --async prints the request", async (t) => {
  const { control, outrigger } = await serving(t, [begins]);

  const detached = await outrigger([...up, "-d", "-n", "other"]);
  const later = await outrigger([...up, "--async"]);

  assert.deepEqual([detached.code, detached.stdout], [0, `${endpoint}\n`]);
  assert.match(later.stdout, /^[0-9a-f-]{36}\n$/);
  assert.equal(control.to("POST /serve/status").length, 0);
  assert.equal(control.to("POST /serve/up")[0]?.body["service_name"], "other");
});

test("a question comes before a service is brought up or changed", async (t) => {
  const { control, outrigger } = await serving(t, [aService()]);

  const answers = [
    await outrigger(up, { typed: "n\n" }),
    await outrigger(["serve", "update", "chat", "chat.yaml"], { typed: "n\n" }),
  ];

  for (const { code, stderr } of answers) {
    assert.equal(code, 1);
    assert.match(stderr, /Nothing was changed/);
  }
  assert.match(answers[1]?.stderr ?? "", /Update service 'chat', .* version 1 \(rolling\)\?/);
  assert.equal(control.to("POST /serve/up").length + control.to("POST /serve/update").length, 0);
});

test("the files of service.tls go along with the service", async (t) => {
  const chunks: string[] = [];
  const { control, outrigger } = await serving(t, [aService()], {
    "GET /upload_v2/blob": (_seen, res) => sendJson(res, 200, { exists: false }),
    "POST /upload_v2": (seen, res) => {
      chunks.push(seen.text);
      sendJson(res, 200, { status: "completed" });
    },
  });
  const { folder } = outrigger;
  for (const name of ["key.pem", "cert.pem"]) writeFileSync(join(folder, name), name);
  const tls = "service:\n  tls: { keyfile: key.pem, certfile: cert.pem }";
  const file = join(folder, "chat.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("service:", tls));

  const { code, stderr } = await outrigger([...up, "-d"]);

  assert.equal(code, 0, stderr);
  const task = parse(String(control.to("POST /serve/up")[0]?.body["task"]));
  const paths = [join(folder, "key.pem"), join(folder, "cert.pem")];
  assert.deepEqual(Object.values(task.service.tls), paths);
  assert.deepEqual(Object.keys(task.file_mounts_mapping), paths);
  for (const path of paths) assert.ok(chunks.join("").includes(path.slice(1)), path);
});

test("serve up says once that a server listens elsewhere than on $PORT", async (t) => {
  const startingFor = (status_reason: string, more: { hint?: string } = {}) =>
    aService({
      status: "REPLICA_INIT",
      replica_info: [aReplica(1, { status: "STARTING", status_reason, ...more })],
    });
  const hint = "it listens on 8000, not on $PORT, which is 8080: use $PORT";
  const { outrigger } = await serving(t, [
    startingFor("handed in; last probe: refused"),
    startingFor("handed in; last probe: refused", { hint }),
    startingFor("handed in; last probe: timeout", { hint }),
    aService({ replica_info: [aReplica(1)] }),
  ]);

  const { code, stderr } = await outrigger(up);

  assert.equal(code, 0, stderr);
  assert.deepEqual(
    stderr.split("\n").filter((line) => line.startsWith("  replica")),
    [
      "  replica 1 STARTING",
      "  replica 1 STARTING: it listens on 8000, not on $PORT, which is 8080: use $PORT",
      "  replica 1 READY",
    ],
  );
});

for (const [max_replicas, how] of [
  [0, "it has no replicas, as configured"],
  [2, "scaled to zero; the next request starts a replica"],
] as const)
  test(`serve up of a service without replicas says why, where it may have ${max_replicas}`, async (t) => {
    const none = { replica_info: [], target_num_replicas: 0, max_replicas };
    const { outrigger } = await serving(t, [aService({ status: "NO_REPLICA", ...none })]);

    const { code, stderr } = await outrigger(up);

    assert.equal(code, 0, stderr);
    assert.ok(stderr.includes(`Service chat NO_REPLICA: ${how}\n`), stderr);
  });
