import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { awsNotices } from "../../../agent/notices/aws.ts";
import { azureNotices } from "../../../agent/notices/azure.ts";
import { gcpNotices } from "../../../agent/notices/gcp.ts";
import { until } from "../../helpers/agent.ts";
import {
  anAzureEvent,
  reply,
  startAws,
  startAzure,
  startEndpoint,
  startGcp,
} from "../../helpers/metadata.ts";

const now = () => 1_000_000;

test("AWS: there is no notice until there is an instance action", async (t) => {
  const aws = await startAws(t);
  const { look } = awsNotices({ metadataUrl: aws.url });
  assert.equal(await look(t.signal), undefined);
  assert.equal(await look(t.signal), undefined);

  aws.world.action = '{"action": "stop", "time": "2017-09-18T08:22:00Z"}';
  assert.deepEqual(await look(t.signal), {
    id: "stop 2017-09-18T08:22:00Z",
    because: "AWS: stop at 2017-09-18T08:22:00Z",
    deadlineAt: Date.UTC(2017, 8, 18, 8, 22),
  });
  assert.equal(aws.world.tokens, 1);
});

test("AWS: a token that has ended is replaced within the same look", async (t) => {
  const aws = await startAws(t);
  const { look } = awsNotices({ metadataUrl: aws.url });
  await look(t.signal);
  aws.world.tokens += 1;
  aws.world.action = '{"action": "terminate", "time": "2017-09-18T08:22:00Z"}';

  assert.match((await look(t.signal))?.because ?? "", /^AWS: terminate/);
  assert.equal(aws.world.tokens, 3);
});

test("AWS: what cannot be a token is not taken for one", async (t) => {
  let isBroken = true;
  const { url } = await startEndpoint(t, (req, res) => {
    if (isBroken) return reply(res, 200, "<html>\nlog in</html>");
    return req.method === "PUT" ? reply(res, 200, "token") : reply(res, 404);
  });
  const { look } = awsNotices({ metadataUrl: url });
  await assert.rejects(look(t.signal), /log in/);
  isBroken = false;

  assert.equal(await look(t.signal), undefined);
});

test("GCP: a request waits for the change, and the VM has half a minute from there", async (t) => {
  const gcp = await startGcp(t);
  const { look } = gcpNotices({ metadataUrl: gcp.url }, now);
  assert.equal(await look(t.signal), undefined);

  const next = look(t.signal);
  await until(() => gcp.waiting === 1 || undefined);
  gcp.set("TRUE");
  const notice = await next;
  assert.equal(notice?.deadlineAt, now() + 30_000);

  const another = gcpNotices({ metadataUrl: gcp.url }, now);
  assert.equal((await another.look(t.signal))?.id, notice?.id);
});

test("Azure: only an event that ends this very VM is a notice", async (t) => {
  const azure = await startAzure(t, "Spot-7");
  const { look } = azureNotices({ metadataUrl: azure.url }, now);
  const others = [{ Resources: ["spot-8"] }, { EventType: "Reboot" }, { EventType: "Freeze" }];
  azure.world.events = others.map(anAzureEvent);
  assert.equal(await look(t.signal), undefined);

  azure.world.events.push(anAzureEvent({ Resources: ["spot-6", "spot-7"] }));
  const notice = await look(t.signal);
  assert.equal(notice?.deadlineAt, Date.UTC(2022, 8, 19, 18, 29, 47));
  assert.equal(notice?.because, "Azure: Preempt");

  azure.world.events = [anAzureEvent({ EventStatus: "Started", NotBefore: "" })];
  assert.equal((await look(t.signal))?.deadlineAt, now());
  assert.notEqual((await look(t.signal))?.id, notice?.id);
});

const openers = [awsNotices, gcpNotices, azureNotices];

test("garbage is no notice, whatever the status", async (t) => {
  const texts = ["<html>login</html>", "", "{}", '{"action":1}', '{"Events":[{}]}', "null", "[]"];
  for (const status of [200, 204, 302, 500, 503])
    for (const text of texts) {
      const { url } = await startEndpoint(t, (req, res) =>
        req.method === "PUT" ? reply(res, 200, "token") : reply(res, status, text),
      );
      for (const open of openers)
        await assert.rejects(open({ metadataUrl: url }, now).look(t.signal), Error, text);
    }
});

test("an endpoint that is away, silent, cuts off or floods is an error", async (t) => {
  const gone = createServer().listen(0, "127.0.0.1");
  const endless = await startEndpoint(t, (_, res) => {
    const write = () => res.write("x".repeat(64_000), (error) => error || write());
    write();
  });
  const cut = await startEndpoint(t, (_, res) => {
    res.writeHead(200, { "content-length": "100" }).write("TR");
    setImmediate(() => res.destroy());
  });
  const address = gone.address();
  gone.close();
  const refused = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  for (const open of openers)
    for (const metadataUrl of [refused, endless.url, cut.url])
      await assert.rejects(open({ metadataUrl }, now).look(t.signal), Error);
});

test("a slow answer is waited for, and given up with the agent", async (t) => {
  let answer = () => {};
  const { url, asked } = await startEndpoint(t, (_, res) => {
    answer = () => reply(res, 200, '{"DocumentIncarnation": 1, "Events": []}');
  });
  const { look } = azureNotices({ metadataUrl: url }, now);
  const waiting = look(t.signal);
  await until(() => asked.length === 1 || undefined);
  answer();
  assert.equal(await waiting, undefined);

  const stopping = new AbortController();
  const given = look(stopping.signal);
  await until(() => asked.length === 2 || undefined);
  stopping.abort();
  await assert.rejects(given, { name: "AbortError" });
});
