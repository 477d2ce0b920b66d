import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:net";
import { test } from "node:test";
import { serveOperations as rows } from "../../contract/operations/serve.ts";
import { until } from "../helpers/agent.ts";
import { namespacesOf, whyNoNamespacesHere as skip } from "../helpers/namespaces.ts";
import { startControl, type TestControl } from "../helpers/programs.ts";

const port = 8_080;
const name = "chat";
const key = "correct-horse-battery-staple";

/** Listens where it always does, whatever it is told, and says which replica it is. */
const server = `
  const answer = (req, res) => res.end(process.env.OUTRIGGER_SERVE_REPLICA_ID);
  require("node:http").createServer(answer).listen(${port}, "0.0.0.0");`;

const refused = /its 2 nodes could not reach one another; or have the server listen on \$PORT/;

const aService = (more: object = {}, task: object = {}): string =>
  JSON.stringify({
    ...task,
    run: `exec ${process.execPath} -e '${server.replaceAll("\n", " ")}'`,
    secrets: { API_KEY: key },
    service: {
      readiness_probe: {
        path: "/",
        interval_seconds: 1,
        headers: { Authorization: "Bearer $API_KEY" },
      },
      replicas: 2,
      ports: port,
      load_balancing_policy: "round_robin",
      ...more,
    },
  });

const options = { skip, timeout: 300_000 };

test(
  "replicas on one machine each have the port that their server insists on",
  options,
  async (t) => {
    const control = await startControl(t);
    const { client, home } = control;
    t.after(() => {
      for (const left of namespacesOf(home)) execFileSync("ip", ["netns", "del", left]);
    });
    await holdPort(t);
    const task = aService();
    const [, endpoint] = await client.callAndGet(rows.up, { task, service_name: name });
    const first = await untilReady(control, 1);

    await t.test("and answer at addresses of their own", async () => {
      assert.deepEqual(
        first.map(({ port }) => port),
        [String(port), String(port)],
      );
      assert.notEqual(first[0]?.hostname, first[1]?.hostname);
      const answers = await Promise.all(first.map(({ origin }) => textAt(origin)));
      assert.deepEqual(answers.sort(), ["1", "2"]);
      assert.deepEqual(await answersOf(endpoint), ["1", "2"]);
    });

    await t.test("also once control was killed and is there again", async () => {
      await control.end("SIGKILL");
      assert.deepEqual(await answersOf(endpoint), ["1", "2"]);
      await control.start();
      assert.deepEqual(await untilReady(control, 1), first);
    });

    await t.test("and go on when an update asks for what no machine can give", async () => {
      const task = aService({}, { num_nodes: 2 });
      const update = client.callAndGet(rows.update, { service_name: name, task, mode: "rolling" });

      await assert.rejects(update, { message: refused });
      assert.equal((await statusOf(control))?.version, 1);
    });

    await t.test("and behind a sidecar that asks for a key", async () => {
      const task = aService({ auth: { api_key: "$API_KEY" } });
      await client.callAndGet(rows.update, { service_name: name, task, mode: "rolling" });
      await untilReady(control, 2);

      assert.equal((await fetch(endpoint)).status, 401);
      assert.deepEqual(await answersOf(endpoint, { authorization: `Bearer ${key}` }), ["3", "4"]);
    });

    await t.test("and leave nothing behind", async () => {
      assert.ok(namespacesOf(home).length >= 2);
      await client.callAndGet(rows.down, { service_names: name });

      await until(async () => ((await statusOf(control)) === undefined ? true : undefined));
      assert.deepEqual(namespacesOf(home), []);
      for (const { hostname } of first) assert.equal(linksTo(hostname), "");
    });
  },
);

test("replicas whose nodes could not reach one another are refused at once", async (t) => {
  const control = await startControl(t);
  const task = aService({}, { num_nodes: 2 });

  const up = control.client.callAndGet(rows.up, { task, service_name: name });

  await assert.rejects(up, { message: refused });
  assert.equal(await statusOf(control), undefined);
});

/** Has somebody on the machine hold the port: who has a network of its own does not mind. */
async function holdPort(t: { after(clean: () => void): void }): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const holder = createServer().unref();
  t.after(() => void holder.close());
  holder.once("error", () => resolve()).listen(port, "127.0.0.1", () => resolve());
  await promise;
}

async function statusOf({ client }: TestControl) {
  const [found] = await client.callAndGet(rows.status, { service_names: name });
  return found;
}

/** Where the replicas of a version are reached, once these alone are there and ready. */
const untilReady = (control: TestControl, version: number): Promise<URL[]> =>
  until(async () => {
    const replicas = (await statusOf(control))?.replica_info ?? [];
    const isThere = replicas.every((one) => one.status === "READY" && one.version === version);
    if (!isThere || replicas.length !== 2) return undefined;
    return replicas.map(({ endpoint }) => new URL(endpoint ?? ""));
  });

/** Who answers one request after the other. */
async function answersOf(endpoint: string, headers: Record<string, string> = {}) {
  const answers = new Set<string>();
  await until(async () => {
    answers.add(await textAt(endpoint, headers));
    return answers.size >= 2 ? true : undefined;
  });
  return [...answers].sort();
}

async function textAt(url: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(url, { headers });
  assert.equal(answer.status, 200);
  return answer.text();
}

const linksTo = (address: string): string =>
  execFileSync("ip", ["-brief", "addr", "show", "to", `${address}/30`], { encoding: "utf8" });
