import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";
import { two, usual } from "./usual-routes.ts";

/** A control plane whose stops never end: each is `stop-NAME`. */
const waiting = (stream: Handler): Routes => ({
  ...usual,
  "POST /status": (_seen, res) => void res.setHeader("x-skypilot-request-id", "list").end("null"),
  "POST /stop": ({ body }, res) =>
    void res.setHeader("x-skypilot-request-id", `${body["cluster_name"]}-1`).end("null"),
  "GET /api/stream": stream,
  "GET /api/get": (_seen, res) => sendJson(res, 200, { return_value: JSON.stringify(two.result) }),
});

/** Names as they are typed, and the order in which the clusters are asked for. */
const orders: readonly [string, string[]][] = [
  ["stop dev dev-2", ["dev", "dev-2"]],
  ["stop dev-2 dev", ["dev-2", "dev"]],
  ["stop -y 'dev-*' dev", ["dev-2", "dev"]],
];

for (const [line, wanted] of orders)
  test(`\`outrigger ${line}\` asks for all before it waits, in the order typed; Ctrl-C names each`, async (t) => {
    const abort = new AbortController();
    const followed: string[] = [];
    const control = await fakeControl(
      t,
      waiting(({ query }, res) => {
        followed.push(query.get("request_id") ?? "");
        res.write("hooks run\n", () => abort.abort());
      }),
    );
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line), { signal: abort.signal });

    const asked = control.to("POST /stop").map(({ body }) => body["cluster_name"]);
    const [first, second] = wanted;
    assert.deepEqual([code, asked, followed], [130, wanted, [`${first}-1`]]);
    for (const name of [first, second])
      assert.match(
        stderr,
        new RegExp(`^The stop of ${name} continues\\. Follow .* ${name}-1$`, "m"),
      );
  });

test("a control plane that ends under a stop leaves its hooks alone, and the message says so", async (t) => {
  const control = await fakeControl(
    t,
    waiting((_seen, res) => void res.writeHead(502).end("gone")),
  );
  const cut = await fakeControl(t, {
    ...waiting((_seen, res) => void res.destroy()),
  });
  const outrigger = await commandLine(t, cut.endpoint);
  const answered = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["stop", "dev", "dev-2"]);
  const other = await answered(["stop", "dev"]);

  assert.equal(code, 7);
  for (const name of ["dev", "dev-2"])
    assert.match(
      stderr,
      new RegExp(`^The stop of ${name} is not lost\\. Hooks continue now.* logs ${name}-1$`, "m"),
    );
  assert.match(stderr, /error: lost the connection/);
  assert.doesNotMatch(other.stderr, /not lost/);
});

test("a queue that is not current says so, and how to start a cluster that is stopped", async (t) => {
  const job = {
    ...{ job_id: 1, job_name: null, username: "ana", user_hash: "u1", resources: "1x[CPU:2]" },
    ...{
      submitted_at: 1,
      start_at: null,
      end_at: null,
      status: "PENDING",
      log_path: "",
      links: {},
    },
    metadata: { as_of: "2026-01-01T00:00:00Z" },
  };
  const control = await fakeControl(t, { "POST /queue": { result: [job] }, "POST /status": two });
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(wordsOf("queue dev-2"));

  assert.match(stderr, /^dev-2 is STOPPED: its jobs are as of 2026-01-01T00:00:00Z\.$/m);
  assert.match(stderr, /^Start it: outrigger start dev-2$/m);
});
