import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { startAgent, until } from "../../helpers/agent.ts";
import { openModelClient } from "../../helpers/model-client.ts";
import { aSidecar, leftOf, listBehind, serve, submitBehind } from "./sidecars.ts";

const agent = await startAgent({ after }, { cpus: 8 });
const key = "k1";
const modelServer = join(import.meta.dirname, "../../fixtures/model-server.mjs");

test("the exit code behind a sidecar is the job's, and its log is the script's alone", async () => {
  const { id } = await submitBehind(agent, await aSidecar(key), "echo out; echo err >&2; exit 7");
  const job = await agent.untilJob(id);

  assert.equal(job.status, "FAILED");
  assert.equal(job.exitCode, 7);
  assert.equal(await agent.log(id), "out\nerr\n");
  assert.deepEqual(leftOf(agent, id), []);
});

test("cancelling ends a server and its sidecar, and lets a server that heeds TERM clean up", async () => {
  const job = await submitBehind(agent, await aSidecar(key), serve("serves-port"));
  await job.untilServing();
  const { status } = await agent.call("cancelJob", { id: job.id, graceMs: 60_000 });

  assert.equal(status, "CANCELLED");
  assert.deepEqual(leftOf(agent, job.id), []);
  assert.equal(await job.statusOf(key), 0);
  assert.match(await agent.log(job.id), /^got SIGTERM$/m);
});

test("cancelling lets a sidecar answer what is under way before its server is told to end", async (t) => {
  const run = `${process.execPath} ${modelServer}; echo`;
  const job = await submitBehind(agent, await aSidecar(key), run);
  await until(async () => (await job.statusOf(key, "/health")) === 200 || undefined);
  const client = openModelClient(`http://127.0.0.1:${job.sidecar.listen.port}`, key);
  t.after(() => client.close());
  const gate = join(agent.home, "gate");
  const tokens = client.tokens(gate);
  await tokens.next();
  const cancelled = agent.call("cancelJob", { id: job.id, graceMs: 120_000 });
  await until(async () => (await job.statusOf(key, "/health")) === 0 || undefined);

  writeFileSync(gate, "");

  let rest = 0;
  for await (const _ of tokens) rest += 1;
  assert.equal(rest, 3);
  await cancelled;
  assert.deepEqual(leftOf(agent, job.id), []);
});

test("a server that ignores TERM is killed with its sidecar", async () => {
  const ready = join(agent.home, "ready");
  const ignores = join(import.meta.dirname, "../../fixtures/ignores-term");
  const job = await submitBehind(agent, await aSidecar(key), `${ignores} ${ready}`);
  await until(() => existsSync(ready) || undefined);
  await agent.call("cancelJob", { id: job.id, graceMs: 50 });

  assert.deepEqual(leftOf(agent, job.id), []);
  assert.equal(await job.statusOf(key), 0);
});

test("a sidecar that does not end has half of the time, and only then is its server told to", async (t) => {
  const server = `${process.execPath} ${modelServer}`;
  const run = `trap "echo got SIGTERM" TERM; ${server} & wait; wait`;
  const job = await submitBehind(agent, await aSidecar(key), run);
  await until(async () => (await job.statusOf(key, "/health")) === 200 || undefined);
  const client = openModelClient(`http://127.0.0.1:${job.sidecar.listen.port}`, key);
  t.after(() => client.close());
  const tokens = client.tokens(join(agent.home, "gate-that-stays-closed"));
  await tokens.next();
  const graceMs = 8_000;
  const begunAt = performance.now();

  await agent.call("cancelJob", { id: job.id, graceMs });

  const tookMs = performance.now() - begunAt;
  assert.ok(tookMs >= graceMs / 2 && tookMs < graceMs, `it took ${tookMs} ms`);
  assert.deepEqual(leftOf(agent, job.id), []);
  assert.match(await agent.log(job.id), /^got SIGTERM$/m);
  await assert.rejects(tokens.next());
});

test("a killed agent finds its job behind the sidecar again, which serves all the while", async (t) => {
  const mortal = await startAgent(t);
  const job = await submitBehind(mortal, await aSidecar(key), serve("serves-port"));
  await job.untilServing();
  const before = leftOf(mortal, job.id).map(({ pid }) => pid);
  await mortal.end("SIGKILL");
  assert.equal(await job.statusOf(key), 200);
  assert.equal(await job.statusOf("wrong"), 401);
  await mortal.start();

  assert.equal((await mortal.call("getJob", job)).status, "RUNNING");
  assert.equal(await job.statusOf(key), 200);
  assert.deepEqual(
    leftOf(mortal, job.id).map(({ pid }) => pid),
    before,
  );
  for (const { pid } of listBehind(mortal, job.id)) process.kill(pid, "SIGTERM");
  assert.equal((await mortal.untilJob(job.id)).exitCode, 42);
  assert.deepEqual(leftOf(mortal, job.id), []);
});

test("a job that waits in the queue has its sidecar also when another agent starts it", async (t) => {
  const mortal = await startAgent(t, { cpus: 0.5 });
  const first = await mortal.submit("until [ -e ~/go ]; do sleep 0.05; done");
  const job = await submitBehind(mortal, await aSidecar(key), serve("serves-port"));
  await mortal.untilJob(first.id, "RUNNING");
  await mortal.end("SIGKILL");
  await mortal.start();
  await mortal.call("cancelJob", { id: first.id });
  await job.untilServing();

  assert.equal(await job.statusOf("wrong"), 401);
  await mortal.call("cancelJob", { id: job.id, graceMs: 60_000 });
});

for (const whose of ["clients", "the server"])
  test(`a port for ${whose} that is taken fails the job, and its log says which`, async (t) => {
    const sidecar = await aSidecar(key);
    const port = whose === "clients" ? sidecar.listen.port : sidecar.serverPort;
    const taken = createServer().listen(port, "127.0.0.1");
    t.after(() => taken.close());
    await once(taken, "listening");
    const { id } = await submitBehind(agent, sidecar, serve("serves-port"));

    assert.equal((await agent.untilJob(id)).status, "FAILED");
    const log = await agent.log(id);
    if (whose === "clients")
      assert.equal(log, `error: cannot listen on 127.0.0.1:${port}: EADDRINUSE\n`);
    else assert.match(log, new RegExp(`EADDRINUSE: .* 127.0.0.1:${port}`));
  });
