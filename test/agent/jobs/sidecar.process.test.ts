import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { request } from "undici";
import { envNames, envOf } from "../../../common/product.ts";
import { startAgent, until } from "../../helpers/agent.ts";
import { argumentsOfAll, filesWith } from "../exposure.ts";
import { aSidecar, environmentOf, listBehind, serve, submitBehind } from "./sidecars.ts";

const agent = await startAgent({ after }, { cpus: 8 });
// Another run of this file must not be a hit: it looks at the arguments of all processes.
const key = `very-much-unknown-${process.pid}`;

test("only who has the key reaches the server of a job, and its answer streams", async () => {
  const job = await submitBehind(agent, await aSidecar(key), serve("serves-completions"));
  await job.untilServing();
  const { host, port } = job.sidecar.listen;
  const [body, headers] = [new PassThrough(), { authorization: `Bearer ${key}` }];
  body.write("first");
  const url = `http://${host}:${port}/echo`;
  const answer = await request(url, { method: "POST", headers, body });
  const chunks = answer.body[Symbol.asyncIterator]();

  assert.equal(await job.statusOf(undefined), 401);
  assert.equal(await job.statusOf("wrong"), 401);
  // The server has not heard the end of the request when its answer is here.
  assert.equal(String((await chunks.next()).value), "first");
  body.end("second");
  assert.equal(String((await chunks.next()).value), "second");
  assert.equal((await chunks.next()).done, true);
  await agent.call("cancelJob", { id: job.id, graceMs: 60_000 });
});

test("the key of a sidecar lies nowhere in clear, and its server sees a port instead", async () => {
  const run = `env > ~/seen\n${serve("serves-port")}`;
  const more = { setup: "env > ~/seen-by-setup", secrets: { TOKEN: "another-secret" } };
  const job = await submitBehind(agent, await aSidecar(key), run, more);
  const { id, sidecar } = job;
  await job.untilServing();
  assert.equal(await job.statusOf("wrong"), 401);
  const seen = readFileSync(join(agent.home, "seen"), "utf8").split("\n");
  // What is written reaches the log a moment later.
  const log = await until(async () => {
    const said = await agent.log(id);
    return said.includes("serving on") ? said : undefined;
  });
  const answers = [
    await agent.call("getJob", { id }),
    await agent.call("listJobs", {}),
    await agent.call("getPartSpec", { id }),
  ];

  const port = String(sidecar.serverPort);
  for (const [name, value] of Object.entries({ PORT: port, ...envOf("REPLICA_PORT", port) }))
    assert.ok(seen.includes(`${name}=${value}`), name);
  assert.deepEqual(
    seen.filter((line) => envNames("REPLICA_KEY").some((name) => line.startsWith(name))),
    [],
  );
  assert.equal(filesWith(agent.home, key), "");
  assert.equal(argumentsOfAll().includes(key), false);
  assert.equal(JSON.stringify(answers).includes(key), false);
  assert.equal(log, `port is ${port}\nserving on ${port}\n`);
  await agent.call("cancelJob", { id, graceMs: 60_000 });
  assert.equal(filesWith(agent.home, key), "");
});

test("of the processes behind a sidecar none has its key", async () => {
  const run = `sleep 1000 &\n${serve("serves-port")}`;
  const job = await submitBehind(agent, await aSidecar(key), run);
  await job.untilServing();
  const behind = listBehind(agent, job.id);

  assert.equal(behind.length, 2);
  for (const { pid } of behind) assert.equal(environmentOf(pid).includes(key), false);
  await agent.call("cancelJob", { id: job.id, graceMs: 60_000 });
});

test("a request that the server does not answer is broken off: another replica may answer it", async () => {
  const job = await submitBehind(agent, await aSidecar(key), "exec sleep 1000");
  await until(async () => (await job.statusOf("wrong")) === 401 || undefined);

  assert.equal(await job.statusOf(key), 0);
  await agent.call("cancelJob", { id: job.id, graceMs: 60_000 });
});

test("a task may set what its sidecar does further, and not where it listens", async () => {
  const env = { OUTRIGGER_SIDECAR_ALLOW_PATH: "/health", OUTRIGGER_SIDECAR_LISTEN: "nowhere:0" };
  const job = await submitBehind(agent, await aSidecar(key), serve("serves-port"), { env });
  await job.untilServing();

  assert.equal(await job.statusOf(undefined, "/health"), 200);
  assert.equal(await job.statusOf(undefined, "/other"), 401);
  await agent.call("cancelJob", { id: job.id, graceMs: 60_000 });
});

test("what is meant for the server's Node.js does not reach that of the sidecar", async () => {
  const env = { NODE_OPTIONS: "--import /not/there.mjs", NODE_RANK_NAME: 'a "b" $c' };
  const run = 'echo "$NODE_OPTIONS, $NODE_RANK_NAME, $OUTRIGGER_NODE_RANK"; env | grep -c ASIDE';
  const { id } = await submitBehind(agent, await aSidecar(key), run, { env });

  assert.equal((await agent.untilJob(id)).exitCode, 1);
  assert.equal(await agent.log(id), '--import /not/there.mjs, a "b" $c, 0\n0\n');
});

test("without a sidecar a job sees the ports that it was given, and nothing stands before it", async () => {
  const env = { PORT: "8123", ...envOf("REPLICA_PORT", "8123") };
  const names = Object.keys(env).map((name) => `$${name}`);
  const run = `echo ${names.join(" ")}; cat /proc/$PPID/comm`;
  const { id } = await agent.submit(run, { env });

  assert.equal((await agent.untilJob(id)).status, "SUCCEEDED");
  assert.equal(await agent.log(id), "8123 8123 8123\nsh\n");
});
