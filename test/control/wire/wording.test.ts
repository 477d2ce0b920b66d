import assert from "node:assert/strict";
import { test } from "node:test";
import { type Reader, readerOf, wordedFor } from "../../../control/wire/wording.ts";
import { testWorld } from "../../helpers/world.ts";

const ours: Reader = { program: "outrigger", clientApi: 62 };
const theirs: Reader = { program: "sky", clientApi: 62 };

/** What we say, and what an existing client reads. */
const messages: readonly [string, string][] = [
  ["start it first: outrigger start dev", "start it first: sky start dev"],
  ["run `outrigger serve up` first", "run `sky serve up` first"],
  [
    "try: outrigger start a; read: outrigger logs --hook a",
    "try: sky start a; read: sky logs --hook a",
  ],
  ["outrigger stop a --skip-hooks; outrigger stop a", "outrigger stop a --skip-hooks; sky stop a"],
  ["outrigger ssh status; outrigger api start", "outrigger ssh status; outrigger api start"],
  ["~/.outrigger stays", "~/.outrigger stays"],
  ["line 3, column 5: run: is text\nline 4, column 1: x", "run: is text\nx"],
];

test("a message names the commands of the client that reads it, and its fields instead of lines", () => {
  for (const [said, read] of messages) {
    assert.equal(wordedFor(theirs, said), read);
    assert.equal(wordedFor(ours, said), said);
  }
  const older = { ...theirs, clientApi: 50 };
  assert.equal(wordedFor(older, "outrigger logs --hook a"), "outrigger logs --hook a");
});

test("a client is known by the names of the headers that it sends", () => {
  assert.equal(readerOf({ "x-skypilot-api-version": "50" }).program, "sky");
  const both = { "x-skypilot-api-version": "62", "x-outrigger-api-version": "62" };
  assert.deepEqual(readerOf(both), ours);
  assert.deepEqual(readerOf({}), { program: "outrigger", clientApi: null });
  assert.deepEqual(readerOf({ "x-skypilot-api-version": "x" }), { ...theirs, clientApi: null });
});

test("what fails, what is printed and what is refused at once is worded for the client", async (t) => {
  const world = await testWorld(t);
  const headers = { "x-skypilot-api-version": "62" };
  const send = (path: string, body: object) => world.http("POST", path, { body, headers });
  const task = "run: 'true'\nservice: {readiness_probe: /, replicas: 1}\nresources: {ports: 80}";

  const launch = await send("/launch", { cluster_name: "dev", task });
  const id = launch.headers["x-skypilot-request-id"];
  await world.http("GET", `/api/get?request_id=${id}`, { headers });
  assert.match(await world.printed(String(id)), /service \(bring it up with `sky serve up`\)/);

  await world.http(
    "GET",
    `/api/get?request_id=${(await send("/stop", { cluster_name: "dev" })).headers["x-skypilot-request-id"]}`,
  );
  const logs = await send("/download_logs", { cluster_name: "dev", job_ids: ["7"] });
  const asked = `/api/get?request_id=${logs.headers["x-skypilot-request-id"]}`;
  const messageFor = async (more: object) =>
    JSON.parse(String((await world.http("GET", asked, more)).json["error"])).message;
  assert.match(await messageFor({ headers }), /start it to read them: sky start dev/);
  assert.match(await messageFor({}), /start it to read them: outrigger start dev/);

  const { status, json } = await send("/validate", {
    dag: "run: a\nnum_nodes: -1",
    request_options: null,
  });
  assert.equal(status, 400);
  assert.match(JSON.stringify(json), /"message":"num_nodes: /);
});
