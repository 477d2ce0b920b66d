import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { openClient } from "../../client/sdk.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { controlLine, fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";

async function clientOf(t: TestContext, routes: Routes, signal?: AbortSignal) {
  const control = await fakeControl(t, routes);
  const client = openClient({
    endpoint: control.endpoint,
    origin: "outrigger test",
    delaysMs: [1, 1, 1],
    ...(signal && { signal }),
  });
  t.after(() => client.close());
  return { control, client };
}

function collector() {
  const shown = { text: "" };
  const sink = {
    write(bytes: Buffer) {
      shown.text += bytes.toString();
    },
    control: () => {},
  };
  return { shown, sink };
}

test("a stored operation answers its id, and its result waits under it", async (t) => {
  const { client, control } = await clientOf(t, { "POST /queue": { result: [{ job_id: 1 }] } });

  const id = await client.call(clusterOperations.queue, { cluster_name: "dev" });
  const jobs = await client.get(id);

  assert.equal(jobs[0]?.job_id, 1);
  const [sent] = control.to("POST /queue");
  assert.equal(sent?.headers["x-outrigger-api-version"], "62");
  assert.equal(sent?.headers["x-skypilot-api-version"], "62");
  assert.equal(sent?.headers["x-skypilot-version"], sent?.headers["x-outrigger-version"]);
  assert.deepEqual(sent?.body, {
    entrypoint: "outrigger.queue",
    entrypoint_command: "outrigger test",
    using_remote_api_server: false,
    cluster_name: "dev",
  });
});

test("the fields of one input travel in the query and in the body", async (t) => {
  const { client, control } = await clientOf(t, {
    "POST /provision_logs": (_seen, res) => void res.end("making nodes\n"),
  });
  const { shown, sink } = collector();

  const input = { cluster_name: "dev", follow: "false", tail: 5 };
  const code = await client.logs(clusterOperations.provisionLogs, input, sink);

  assert.equal(code, 0);
  assert.equal(shown.text, "making nodes\n");
  const [sent] = control.to("POST /provision_logs");
  assert.equal(String(sent?.query), "follow=false&tail=5");
  assert.equal(sent?.body["cluster_name"], "dev");
  assert.ok(!("tail" in (sent?.body ?? {})));
});

test("a failed request throws what it failed with", async (t) => {
  const error = { type: "ClusterDoesNotExist", message: "no cluster dev" };
  const { client } = await clientOf(t, { "POST /queue": { error } });

  const failed = client.callAndGet(clusterOperations.queue, { cluster_name: "dev" });

  await assert.rejects(failed, { name: "ClusterDoesNotExist", message: "no cluster dev" });
});

test("the text of a request survives a lost connection", async (t) => {
  const whole = `one\n${controlLine("rich_init", "x")}two\nthree\n`;
  let opened = 0;
  const { client, control } = await clientOf(t, {
    "POST /check": {},
    "GET /api/stream": (_seen, res) => {
      opened += 1;
      res.writeHead(200);
      if (opened === 3) return void res.end(whole);
      res.write(whole.slice(0, opened * 6), () => res.destroy());
    },
  });
  const { shown, sink } = collector();

  await client.stream("abc", sink);

  assert.equal(shown.text, "one\ntwo\nthree\n");
  assert.equal(control.to("GET /api/stream").length, 3);
});

test("the log of a job goes on at the byte it lost", async (t) => {
  const log = "first line\nsecond line\nthird line\n";
  const { client, control } = await clientOf(t, {
    "POST /logs": ({ body }, res) => {
      const start = Number(body["offset"] ?? 0) || (body["tail"] ? 11 : 0);
      const head = { "x-skypilot-request-id": `r${start}`, "log-offset": String(start) };
      res.writeHead(200, head);
      if (start > 11) return void res.end(log.slice(start));
      res.write(log.slice(start, start + 4), () => res.destroy());
    },
    "GET /api/get": ({ query }, res) =>
      void res.end(
        JSON.stringify({ return_value: query.get("request_id") === "r15" ? "100" : "0" }),
      ),
  });
  const { shown, sink } = collector();

  const input = { cluster_name: "dev", job_id: 1, tail: 2 };
  const code = await client.logs(clusterOperations.logs, input, sink);

  assert.equal(shown.text, log.slice(11));
  assert.equal(code, 100);
  const bodies = control.to("POST /logs").map(({ body }) => [body["tail"], body["offset"]]);
  assert.deepEqual(bodies, [
    [2, undefined],
    [0, 15],
  ]);
});

/** What control answers after a restart: it has forgotten the requests that only read. */
const forgotten: Handler = (_seen, res) => {
  res.setHeader("x-skypilot-request-id", "of-this-call");
  sendJson(res, 404, { detail: "there is no request", type: "NotFoundError" });
};

test("a log whose result was forgotten goes on at its end, and has its result then", async (t) => {
  const gets = [forgotten, (_: unknown, res: ServerResponse) => res.end('{"return_value":"100"}')];
  const { client, control } = await clientOf(t, {
    "POST /logs": ({ body }, res) => {
      const start = Number(body["offset"] ?? 0);
      res.writeHead(200, { "x-skypilot-request-id": `r${start}`, "log-offset": String(start) });
      res.end("one\ntwo\n".slice(start));
    },
    "GET /api/get": (seen, res) => void gets.shift()?.(seen, res),
  });
  const { shown, sink } = collector();

  const input = { cluster_name: "dev", job_id: 1 };
  const code = await client.logs(clusterOperations.logs, input, sink);

  assert.deepEqual([shown.text, code], ["one\ntwo\n", 100]);
  const asked = control.to("GET /api/get").map(({ query }) => query.get("request_id"));
  assert.deepEqual(asked, ["r0", "r8"]);
});

test("what only reads is sent again where it was forgotten; nothing else is", async (t) => {
  const answered: Handler = (_seen, res) => sendJson(res, 200, { return_value: "[]" });
  const gets = [forgotten, answered, forgotten];
  const { client, control } = await clientOf(t, {
    "POST /queue": {},
    "POST /down": {},
    "GET /api/get": (seen, res) => gets.shift()?.(seen, res),
  });
  const dev = { cluster_name: "dev" };

  assert.deepEqual(await client.callAndGet(clusterOperations.queue, dev), []);
  const down = client.callAndGet(clusterOperations.down, dev);

  await assert.rejects(down, { name: "NotFoundError" });
  assert.equal(control.to("POST /queue").length, 2);
  assert.equal(control.to("POST /down").length, 1);
});

test("what control does not know at all is said at once", async (t) => {
  const { client, control } = await clientOf(t, { "POST /queue": forgotten });

  const asked = client.callAndGet(clusterOperations.queue, { cluster_name: "dev" });

  await assert.rejects(asked, { name: "NotFoundError" });
  assert.equal(control.to("POST /queue").length, 1);
});

test("what a request itself did not find is not asked for again", async (t) => {
  const error = { type: "NotFoundError", message: "no such port" };
  const { client, control } = await clientOf(t, { "POST /endpoints": { error } });

  const asked = client.callAndGet(clusterOperations.endpoints, { cluster: "dev" });

  await assert.rejects(asked, { name: "NotFoundError", message: "no such port" });
  assert.equal(control.to("POST /endpoints").length, 1);
});

test("waiting for a result is taken up again; sending is not", async (t) => {
  let tries = 0;
  const drop = (res: { destroy(): void }) => res.destroy();
  const { client, control } = await clientOf(t, {
    "POST /queue": (_seen, res) => drop(res),
    "GET /api/get": (_seen, res) => {
      tries += 1;
      if (tries < 3) return drop(res);
      res.end(JSON.stringify({ return_value: "7" }));
    },
  });

  assert.equal(await client.get<number>("abc"), 7);
  const sent = client.call(clusterOperations.queue, { cluster_name: "dev" });
  await assert.rejects(sent, { name: "UnreachableError" });
  assert.equal(control.to("POST /queue").length, 1);
});

test("an abort ends a stream at once", async (t) => {
  const abort = new AbortController();
  const opened = Promise.withResolvers<void>();
  const { client } = await clientOf(
    t,
    {
      "GET /api/stream": async (_seen, res) => {
        res.writeHead(200);
        res.write("one\n", () => opened.resolve());
        await once(res, "close");
      },
    },
    abort.signal,
  );
  const { shown, sink } = collector();

  const streamed = client.stream("abc", sink);
  const ended = assert.rejects(streamed, { name: "AbortError" });
  await opened.promise;
  abort.abort();

  await ended;
  assert.ok(["", "one\n"].includes(shown.text));
});

test("nobody there: says how to start a control plane", async (t) => {
  const client = openClient({ endpoint: "http://127.0.0.1:9", origin: "" });
  t.after(() => client.close());

  await assert.rejects(client.health(), {
    name: "UnreachableError",
    message:
      "no control plane at http://127.0.0.1:9; start one with `outrigger api start`, or set OUTRIGGER_ENDPOINT to the address of another",
  });
});
