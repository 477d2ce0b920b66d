import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, type TestContext, test } from "node:test";
import type { Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import { startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import {
  anAzureEvent,
  reply,
  startAws,
  startAzure,
  startEndpoint,
  startGcp,
} from "../../helpers/metadata.ts";

/** A proxy that nobody may ask: metadata is the machine's own. */
const proxy = { NODE_USE_ENV_PROXY: "1", http_proxy: "http://127.0.0.1:9", no_proxy: "" };

/** An agent that asks an endpoint, with a hook that tells what it ran for. */
async function anAgent(t: TestContext, env: Record<string, string>): Promise<TestAgent> {
  const agent = await startAgent(t, { env: { ...proxy, ...env } });
  const run = "echo $HOOK_EVENT >> ~/ran";
  const hooks = [{ run, events: ["preemption" as const], timeoutSeconds: 3_600 }];
  await agent.call("putHooks", { version: "1", hooks });
  return agent;
}

const untilReady = (agent: TestAgent): Promise<Lifecycle> =>
  until(async () => {
    const [latest] = await agent.call("listLifecycles", {});
    return latest?.status === "READY" ? latest : undefined;
  });

const ranIn = ({ home }: TestAgent) => readFileSync(join(home, "ran"), "utf8");

// Side by side: each waits for its endpoint to be asked again.
suite("an agent that is told of its node's end", { concurrency: true }, () => {
  test("a spot interruption of AWS runs the hooks once, also after a restart", async (t) => {
    const aws = await startAws(t);
    const env = { OUTRIGGER_NOTICES: "aws", OUTRIGGER_METADATA_URL: aws.url };
    const agent = await anAgent(t, env);
    await until(() => aws.asked.length > 1 || undefined);
    assert.deepEqual(await agent.call("listLifecycles", {}), []);
    const time = new Date(Date.now() + 120_000).toISOString().replace(/\.\d+/, "");
    aws.world.action = JSON.stringify({ action: "terminate", time });
    const ready = await untilReady(agent);

    assert.equal(ready.because, `AWS: terminate at ${time}`);
    assert.equal(ready.deadlineAt, Date.parse(time));
    await agent.call("cancelLifecycle", ready);
    await agent.end("SIGKILL");
    const asked = aws.asked.length;
    await agent.start();
    await until(() => aws.asked.length > asked + 1 || undefined);
    assert.equal((await agent.call("listLifecycles", {})).length, 1);
    assert.equal(ranIn(agent), "preemption\n");
  });

  test("a preemption by GCP is known at once", async (t) => {
    const gcp = await startGcp(t);
    const agent = await anAgent(t, { OUTRIGGER_NOTICES: "gcp", OUTRIGGER_METADATA_URL: gcp.url });
    await until(() => gcp.waiting === 1 || undefined);
    gcp.set("TRUE");
    const { deadlineAt, startedAt } = await untilReady(agent);

    assert.ok(Math.abs((deadlineAt ?? 0) - startedAt - 30_000) < 9_000);
    assert.equal(ranIn(agent), "preemption\n");
  });

  test("of Azure's events only one that ends this VM counts", async (t) => {
    const azure = await startAzure(t, "spot-7");
    azure.world.events = [anAzureEvent({ Resources: ["spot-8"] })];
    const agent = await anAgent(t, {
      OUTRIGGER_NOTICES: "azure",
      OUTRIGGER_METADATA_URL: azure.url,
    });
    await until(() => azure.asked.some((one) => one.includes("compute/name")) || undefined);
    assert.deepEqual(await agent.call("listLifecycles", {}), []);
    const NotBefore = new Date(Date.now() + 60_000).toUTCString();
    azure.world.events.push(anAzureEvent({ NotBefore }));

    assert.equal((await untilReady(agent)).deadlineAt, Date.parse(NotBefore));
  });

  test("a file that appears is a notice", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "notice-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "notice");
    const agent = await anAgent(t, { OUTRIGGER_NOTICE_FILE: path });
    writeFileSync(`${path}.new`, '{"because": "rack 3 is cleaned", "seconds": 90}');
    renameSync(`${path}.new`, path);
    const { because, deadlineAt, startedAt } = await untilReady(agent);

    assert.equal(because, "rack 3 is cleaned");
    assert.ok(Math.abs((deadlineAt ?? 0) - startedAt - 90_000) < 9_000);
    assert.equal(ranIn(agent), "preemption\n");
  });

  test("an endpoint that is away costs a warning, and is asked on until it is back", async (t) => {
    let isAway = true;
    const aws = await startAws(t);
    aws.world.action = '{"action": "stop", "time": "2017-09-18T08:22:00Z"}';
    const between = await startEndpoint(t, async (req, res) => {
      if (isAway) return void res.destroy();
      const answer = await fetch(`${aws.url}${req.url}`, {
        method: req.method ?? "GET",
        headers: tokensOf(req.headers),
      });
      reply(res, answer.status, await answer.text());
    });
    const env = { OUTRIGGER_NOTICES: "aws", OUTRIGGER_METADATA_URL: between.url };
    const agent = await anAgent(t, env);
    await until(() => between.asked.length > 0 || undefined);
    assert.equal((await agent.call("health", {})).lifecycle, null);
    isAway = false;

    assert.match((await untilReady(agent)).because, /^AWS: stop/);
  });
});

const tokensOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith("x-aws-") ? [[name, String(value)]] : [],
    ),
  );
