import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { openKubeApi } from "../../../../control/doors/kubernetes/api.ts";
import { podsWith } from "../../../../control/providers/kubernetes/watch.ts";

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Record<string, string>;
}

/** An API server that gives these answers, one after the other, and the calls that came. */
async function serverOf(t: TestContext, answers: readonly Answer[]) {
  const calls: string[] = [];
  const left = [...answers];
  const server = createServer((req, res) => {
    calls.push(`${req.method} ${req.url?.replace(/.*\/pods/, "pods")}`);
    const { status, headers, body } = left.shift() ?? { status: 500, body: {} };
    res.writeHead(status, headers).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  const { promise: listens, resolve } = Promise.withResolvers<void>();
  server.once("listening", resolve);
  await listens;
  const { port } = server.address() as AddressInfo;
  const authorization = async () => undefined;
  const at = { name: "lab", server: `http://127.0.0.1:${port}`, namespace: "n", tls: {} };
  const api = openKubeApi({ ...at, authorization });
  t.after(() => Promise.all([api.close(), server.close()]));
  return { api, calls };
}

const refusal = (status: number, reason: string, message = reason): Answer => ({
  status,
  body: { kind: "Status", reason, message },
});
const pods = "/api/v1/namespaces/n/pods";
const pod = { metadata: { name: "p" }, status: { phase: "Running" } };
const listOf = (...items: object[]): Answer => ({
  status: 200,
  body: { metadata: { resourceVersion: "7" }, items },
});

test("a server that is busy, and a call that others got in the way of, are asked again", async (t) => {
  const { api, calls } = await serverOf(t, [
    { ...refusal(429, "TooManyRequests"), headers: { "retry-after": "0.01" } },
    refusal(409, "Conflict", "the quota was modified"),
    { status: 201, body: pod },
  ]);

  assert.deepEqual(await api.send("POST", pods, pod, t.signal), pod);
  assert.deepEqual(calls, Array(3).fill("POST pods"));
});

test("what is there, or is not, is no error; what is refused says whether another offer may do", async (t) => {
  const { api } = await serverOf(t, [
    refusal(409, "AlreadyExists"),
    refusal(404, "NotFound"),
    refusal(403, "Forbidden", "exceeded quota: q"),
    refusal(422, "Invalid", "denied request: no"),
    refusal(500, "InternalError", "etcd is slow"),
  ]);
  const create = () => api.send("POST", pods, pod, t.signal);

  assert.equal(await create(), undefined);
  assert.equal(await api.read(`${pods}/p`, t.signal), undefined);
  await assert.rejects(create(), {
    type: "ResourcesUnavailableError",
    details: { refusal: "quota" },
  });
  await assert.rejects(create(), { type: "ResourcesUnavailableError", details: {} });
  await assert.rejects(create(), { type: "CloudError", message: /etcd is slow/ });
});

test("a pod is followed past watches that the server remembers too little for", async (t) => {
  const tooOld = { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } };
  const { api, calls } = await serverOf(t, [
    listOf(pod),
    { status: 200, body: tooOld },
    listOf(pod),
    refusal(410, "Expired"),
    listOf(),
  ]);
  const seen: (string | undefined)[] = [];
  const since = performance.now();

  for await (const one of podsWith(api, {}).follow("p", t.signal)) {
    seen.push(one?.status.phase);
    if (one === undefined) break;
  }

  assert.deepEqual(seen, ["Running", "Running", undefined]);
  assert.equal(calls.length, 5);
  assert.ok(performance.now() - since > 990, "the second one in a row is not begun at once");
});
