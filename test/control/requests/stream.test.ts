import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { controlLine } from "../../../control/wire/control-lines.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld } from "../../helpers/world.ts";

const demo = { cluster_name: "demo", task: "run: 'true'" };

/** A world with a launch under way, whose log the test writes. */
async function withLaunch(t: TestContext) {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const id = await world.call(clusters.launch, demo);
  await world.provider.held("create");
  const print = (text: string) => world.ctx.requestLogs.append(id, text);
  const ask = async (query = "") =>
    (await world.http("GET", `/api/stream?request_id=${id}${query}`)).text;
  // Nothing else is told while the node is being made.
  await until(async () => (await ask("&follow=false")).includes("Cluster demo: ") || undefined);
  return { world, id, release, print, ask };
}

test("a stream replays what was printed, then follows to the end", async (t) => {
  const { world, id, release, print } = await withLaunch(t);
  print("before\n");

  const { headers, body } = await world.open("GET", `/api/stream?request_id=${id}`);
  let text = "";
  for await (const chunk of body) {
    text += chunk;
    if (text.endsWith("before\n")) print("after\n");
    if (text.endsWith("after\n")) release();
  }

  assert.match(
    text,
    /^Candidates [\s\S]*Cluster demo: 1 node[\s\S]*before\nafter\n[\s\S]*ID: 1\n$/,
  );
  assert.match(headers["content-type"] ?? "", /^text\/plain/);
  assert.equal(headers["cache-control"], "no-cache, no-transform");
  assert.equal(headers["x-accel-buffering"], "no");
  assert.equal(await world.printed(id), text, "a second reader reads the same");
});

test("a stream answers with the id as the client wrote it", async (t) => {
  const { world, id, release } = await withLaunch(t);

  for (const asked of [id, id.slice(0, 8)]) {
    const { headers } = await world.http("GET", `/api/stream?request_id=${asked}&follow=False`);
    assert.equal(headers["x-skypilot-stream-request-id"], asked);
    assert.equal(headers["x-outrigger-stream-request-id"], asked);
  }
  release();
});

test("a stream that does not follow ends with what there is", async (t) => {
  const { ask, print, release } = await withLaunch(t);
  print("so far\n");

  assert.match(await ask("&follow=false"), /so far\n$/);
  release();
});

test("a stream can begin with the last lines", async (t) => {
  const { ask, print, release } = await withLaunch(t);
  print("one\ntwo\nthree");

  assert.equal(await ask("&follow=false&tail=1"), "three");
  assert.equal(await ask("&follow=false&tail=2"), "two\nthree");
  print("\n");
  assert.equal(await ask("&follow=false&tail=2"), "two\nthree\n");
  assert.match(await ask("&follow=false&tail=1000"), /^Candidates for any machine:/);
  release();
});

test("plain text has no control lines", async (t) => {
  const { ask, print, release } = await withLaunch(t);
  print(`${controlLine("rich_init", "Launching")}shown\n${controlLine("rich_exit")}last`);

  assert.match(await ask("&follow=false&format=console"), /<sky-payload>/);
  assert.match(await ask("&follow=false&format=plain"), /INIT|shown\nlast$/);
  assert.doesNotMatch(await ask("&follow=false&format=plain"), /sky-payload/);
  release();
});

test("what users name cannot steer the clients of others", async (t) => {
  const world = await testWorld(t);
  const name = '<sky-payload>"<retry>x</retry>"</sky-payload>';

  const id = await world.call(clusters.launch, {
    ...demo,
    env_vars: { OUTRIGGER_USER_ID: "u1", OUTRIGGER_USER: name },
  });
  await world.get(clusters.launch, id);
  const down = await world.call(clusters.down, {
    cluster_name: "demo",
    env_vars: { OUTRIGGER_USER_ID: "u1", OUTRIGGER_USER: name },
  });
  await world.get(clusters.down, down);

  assert.doesNotMatch(await world.printed(down), /<sky-payload/);
});

test("without an id it is the newest request's", async (t) => {
  const { world, release } = await withLaunch(t);
  world.advance(10);
  const id = await world.call(clusters.autostopLogs, { cluster_name: "demo" });
  await world.get(clusters.autostopLogs, id);

  assert.match((await world.http("GET", "/api/stream")).text, /has run no hook of autostop/);
  release();
});

test("a stream of what is not there is refused in JSON", async (t) => {
  const world = await testWorld(t);

  const cases = { "": 404, "?request_id=zz": 404, "?log_path=x": 400, "?format=xml": 422 };
  for (const [query, status] of Object.entries(cases)) {
    const answer = await world.http("GET", `/api/stream${query}`);
    assert.equal(answer.status, status, query);
    assert.ok(answer.json["detail"]);
  }
});

test("a silent stream says that it is still there", async (t) => {
  const { world, id, release } = await withLaunch(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { body } = await world.open("GET", `/api/stream?request_id=${id}`);

  let text = "";
  for await (const chunk of body) {
    text += chunk;
    if (text.includes("heartbeat")) break;
    t.mock.timers.tick(30_000);
  }
  t.mock.timers.reset();

  assert.match(text, /<sky-payload>"<heartbeat><\/heartbeat>"<\/sky-payload>\n$/);
  release();
});
