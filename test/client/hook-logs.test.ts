import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler } from "./fake-control.ts";
import { usual } from "./usual-routes.ts";

test("what hooks wrote is the answer; that there is nothing, and why, is an error", async (t) => {
  const message = "cluster dev has run no down hook";
  const control = await fakeControl(t, usual);
  const none = { "POST /hook_logs": { error: { type: "NotFoundError", message } } };
  const empty = await fakeControl(t, { ...usual, ...none });
  const outrigger = await commandLine(t, control.endpoint);
  const without = await commandLine(t, empty.endpoint);

  const shown = await outrigger(["logs", "--hook", "dev"]);
  const idle = await without(["logs", "--autostop", "dev"]);
  const missing = await without(["logs", "--hook", "down", "dev"]);

  assert.deepEqual(shown, { code: 0, stdout: "saving\n", stderr: "" });
  const told = { code: 3, stdout: "", stderr: `error: ${message}\n` };
  assert.deepEqual(missing, told);
  assert.deepEqual(idle, told);
});

/** Command lines that cannot be meant, and what is said of them. */
const refused: readonly [string, RegExp][] = [
  ["logs", /name the cluster: outrigger logs CLUSTER/],
  ["logs --hook", /name the cluster: outrigger logs --hook CLUSTER/],
  [
    "logs --hook start dev",
    /neither start nor dev is a hook event \(stop, preemption, down\); such as: outrigger logs --hook stop dev/,
  ],
  ["logs --hook stop dev 3", /an event and a cluster, and no job/],
  ["logs dev 3 --hook", /no job: outrigger logs --hook stop dev/],
  ["logs --hook dev --status", /--status cannot be used with --hook/],
  ["logs --hook dev --provision --worker 1", /--provision and --worker cannot be used with --hook/],
  ["logs --hook dev --sync-down", /--sync-down cannot be used with --hook/],
];

for (const [line, told] of refused)
  test(`\`outrigger ${line}\` is refused`, async (t) => {
    const control = await fakeControl(t, usual);
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, 2);
    assert.match(stderr, told);
    assert.deepEqual(control.seen, []);
  });

test("an event alone whose cluster does not exist has its cluster forgotten", async (t) => {
  const error = { type: "ClusterDoesNotExist", message: "there was no cluster stop" };
  const control = await fakeControl(t, { ...usual, "POST /hook_logs": { error } });
  const outrigger = await commandLine(t, control.endpoint);

  const lone = await outrigger(["logs", "--hook", "stop"]);
  const named = await outrigger(["logs", "--hook", "dev"]);

  assert.deepEqual([lone.code, named.code], [2, 3]);
  assert.match(lone.stderr, /name the cluster: outrigger logs --hook stop CLUSTER/);
});

test("Ctrl-C leaves the hooks alone and says how to come back", async (t) => {
  const abort = new AbortController();
  const follows: Handler = (_seen, res) => void res.write("saving\n", () => abort.abort());
  const control = await fakeControl(t, { ...usual, "GET /api/stream": follows });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["logs", "--hook", "dev"], { signal: abort.signal });

  assert.equal(code, 130);
  assert.match(stderr, /The hooks keep running\. Follow them again: outrigger logs --hook dev/);
});

test("where no control plane was asked, nothing is said of hooks", async (t) => {
  const outrigger = await commandLine(t, "http://127.0.0.1:9");

  const { code, stderr } = await outrigger(["logs", "--hook", "dev"]);

  assert.equal(code, 7);
  assert.match(stderr, /^error: no control plane at [^\n]*\n$/);
});

test("a control plane that ends under a reader leaves the hooks alone, and the message says so", async (t) => {
  const cut: Handler = (_seen, res) => void res.destroy();
  const control = await fakeControl(t, { ...usual, "GET /api/stream": cut });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["logs", "--hook", "dev"]);

  assert.equal(code, 7);
  assert.match(
    stderr,
    /The hooks keep running. Once the control plane is back: outrigger logs --hook dev/,
  );
});
