import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { commands } from "../../../client/catalog.ts";
import { findCommit } from "../../../common/commit.ts";
import { product } from "../../../common/product.ts";
import { operations as rows } from "../../../contract/api.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { operations } from "../../../control/operations.ts";
import { testWorld, type World } from "../../helpers/world.ts";

interface Fact {
  readonly route: string;
  readonly in_spec: boolean;
}

/** The rows that answer 501; the specification has none of them. */
const notBuilt = ["POST /debug/dump_create", "GET /debug/dump_download/{dump_filename}"];

test("every operation with code is a row, once", () => {
  const bound = operations.map(({ row }) => row);

  assert.equal(new Set(bound).size, bound.length);
  for (const row of bound) assert.ok(rows.includes(row), row.name);
});

test("every operation of the specification has code: none answers 501", () => {
  const file = new URL("../../fixtures/operations.json", import.meta.url);
  const facts: Fact[] = JSON.parse(
    readFileSync(file, "utf8").replaceAll("<product>", product.word),
  );
  const bound = new Set(operations.map(({ row }) => row));
  const missing = rows.filter((row) => !bound.has(row)).map(({ route }) => route);
  const built = new Set<string>([...bound].map(({ route }) => route));
  const specified = facts.filter((fact) => fact.in_spec).map(({ route }) => route);

  assert.deepEqual(missing, notBuilt);
  assert.equal(specified.length, 102);
  assert.deepEqual(
    specified.filter((route) => !built.has(route)),
    [],
  );
});

test("an async operation is answered with null, status 200 and the id in both headers", async (t) => {
  const world = await testWorld(t);

  const { status, text, headers } = await world.http("POST", "/status", { body: {} });

  assert.equal(status, 200);
  assert.equal(text, "null");
  assert.match(headers["x-skypilot-request-id"] ?? "", /^[0-9a-f-]{36}$/);
  assert.equal(headers["x-outrigger-request-id"], headers["x-skypilot-request-id"]);
});

test("health needs nothing and tells the versions", async (t) => {
  const world = await testWorld(t);

  const { status, json, headers } = await world.http("GET", "/api/health");

  assert.equal(status, 200);
  assert.equal(json["status"], "healthy");
  assert.equal(json["api_version"], headers["x-skypilot-api-version"]);
  assert.deepEqual([json["release"], json["commit"]], [product.version, findCommit() ?? ""]);
  assert.ok(headers["x-outrigger-version"]);
});

test("unknown fields of a body are ignored, keys of every object change nothing", async (t) => {
  const world = await testWorld(t);
  const body =
    '{"cluster_names": null, "new_field": 1, "__proto__": {"polluted": 1}, ' +
    '"constructor": {"prototype": {"polluted": 1}}, "env_vars": {"__proto__": "x", "A": "b"}}';

  const { status, headers } = await world.http("POST", "/status", { body });

  assert.equal(status, 200);
  assert.deepEqual(await world.get(clusters.status, headers["x-skypilot-request-id"] ?? ""), []);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

test("a trailing slash changes nothing", async (t) => {
  const world = await testWorld(t);

  assert.equal((await world.http("GET", "/api/health/")).status, 200);
});

test("a GET may have a body", async (t) => {
  const world = await testWorld(t);

  const { status } = await world.http("GET", "/api/health", { body: {} });

  assert.equal(status, 200);
});

test("the caller is never whom a body names", async (t) => {
  const world = await testWorld(t);
  for (const [at, prefix] of ["OUTRIGGER", "SKYPILOT"].entries()) {
    const env_vars = { [`${prefix}_USER_ID`]: `u${at}`, [`${prefix}_USER`]: `User ${at}` };
    await world.run(clusters.launch, { cluster_name: `c${at}`, task: "run: 'true'", env_vars });
  }

  const owners = await world.run(clusters.status, {});

  assert.deepEqual(
    owners.map(({ user_hash, user_name }) => [user_hash, user_name]),
    [
      ["local", "local"],
      ["local", "local"],
    ],
  );
});

test("the pages are served", async (t) => {
  const world = await testWorld(t);

  assert.equal((await world.http("GET", "/openapi.json")).json["openapi"], "3.1.0");
  assert.match((await world.http("GET", "/docs")).headers["content-type"] ?? "", /^text\/html/);
});

test("links to a web interface lead to a page that says what there is", async (t) => {
  const world = await testWorld(t);
  const home = await world.http("GET", "/");
  const pages = await Promise.all(
    ["/dashboard", "/dashboard/", "/dashboard/clusters/a?tab=jobs", "/dashboard/x/..%2f.."].map(
      (path) => world.http("GET", path),
    ),
  );

  assert.deepEqual([home.status, home.headers["location"]], [307, "/dashboard/"]);
  for (const { status, headers, text } of pages) {
    assert.equal(status, 200);
    assert.match(headers["content-type"] ?? "", /^text\/html/);
    assert.match(text, /no web interface[\s\S]*outrigger status[\s\S]*href="\/docs"/);
    assert.doesNotMatch(text, /<script|https?:|tab=jobs/);
  }
  const named = pages[0]?.text.matchAll(/<code>outrigger ([a-z-]+(?: [a-z]+)?)/g) ?? [];
  for (const [, name = ""] of named)
    assert.ok(
      commands.some((row) => row.name === name),
      name,
    );
});

const answerTo = async (world: World, said: string): Promise<string> => {
  const socket = connect(`${world.home}.sock`);
  socket.write(said);
  return Buffer.concat(await socket.toArray()).toString();
};

test("what is no request is refused with a sentence", async (t) => {
  const world = await testWorld(t);
  const host = "host: localhost\r\n";
  const cases = [
    [`BREW /status HTTP/1.1\r\n${host}\r\n`, 501, "no operation takes this HTTP method"],
    [`CONNECT a:1 HTTP/1.1\r\n${host}\r\n`, 501, "no operation takes this HTTP method"],
    ["GET / HTTP/9\r\n\r\n", 400, "not a valid HTTP request"],
    ["\0\0\0\0\r\n\r\n", 501, "no operation takes this HTTP method"],
    [`GET / HTTP/1.1\r\n${host}a: ${"b".repeat(20_000)}\r\n\r\n`, 431, "larger than 16 KB"],
    [`POST / HTTP/1.1\r\n${host}content-length: -1\r\n\r\n`, 400, "not a valid HTTP request"],
  ] as const;
  for (const [said, status, detail] of cases) {
    const answer = await answerTo(world, said);
    const [head = "", body = ""] = answer.split("\r\n\r\n");

    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*x-skypilot-api-version`), said);
    assert.match(JSON.parse(body).detail, new RegExp(detail));
  }
});

test("a target may name the host, and encode letters", async (t) => {
  const world = await testWorld(t);
  const statusOf = async (target: string) => {
    const head = `GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
    return (await answerTo(world, head)).slice(9, 12);
  };

  for (const target of ["http://h/api/health", "HTTPS://h:1/api/health?a=b", "/%61pi/health"])
    assert.equal(await statusOf(target), "200", target);
  for (const target of ["http://h/api", "/api%2fhealth", "/%2561pi/health", "http:///nope"])
    assert.equal(await statusOf(target), "404", target);
  assert.equal(await statusOf("http://h"), await statusOf("/"));
});

test("a body that no row wants is not looked at", async (t) => {
  const world = await testWorld(t);
  const bodies = [
    { body: "{", headers: {} },
    { body: "a text", headers: { "content-type": "text/plain" } },
    { body: "a text", headers: { "content-type": "foo" } },
  ];
  for (const options of bodies)
    assert.equal((await world.http("GET", "/api/health", options)).status, 200);
});

test("a client that breaks off within its body is nothing to look at", async (t) => {
  const world = await testWorld(t);
  const socket = connect(`${world.home}.sock`);

  socket.end(
    "POST /launch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
      'transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\nno size\r\n',
  );
  await socket.resume().toArray();

  assert.equal((await world.http("GET", "/api/health")).status, 200);
});
