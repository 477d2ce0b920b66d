import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { openToken } from "../../../control/token.ts";
import { asNobody, canBeNobody } from "../../helpers/nobody.ts";
import { startControl, type TestControl } from "../../helpers/programs.ts";

const skip = !canBeNobody && "only root can act as another user";
const finish: (() => Promise<void>)[] = [];
let control: TestControl;
let token: string;
before(async () => {
  control = await startControl({ after: (clean) => void finish.push(clean) });
  token = readFileSync(join(control.home, "token"), "utf8").trim();
});
after(async () => {
  for (const clean of finish) await clean();
});

interface Told {
  readonly status: number;
  readonly body: string;
  readonly version: string | null;
}

/** What another user's process is answered. */
const asOther = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  asNobody(
    {},
    `const answer = await fetch(${JSON.stringify(control.endpoint + path)}, {
       method: ${JSON.stringify(method)}, headers: ${JSON.stringify(headers)} });
     const version = answer.headers.get("x-skypilot-api-version");
     return { status: answer.status, body: await answer.text(), version };`,
  ) as Promise<Told>;

test("another user of the machine is refused with one sentence, whatever they ask for", {
  skip,
}, async () => {
  const told = await Promise.all([
    asOther("/api/health"),
    asOther("/launch", { "content-type": "application/json" }, "POST"),
    asOther("/nowhere"),
    asOther("/docs", { authorization: "Bearer sky_guessed" }),
    asOther("/docs", { authorization: `Basic ${btoa(token)}` }),
  ]);

  for (const { status, body, version } of told) {
    assert.equal(status, 401);
    assert.ok(version);
    const { detail, type } = JSON.parse(body);
    assert.match(detail, /serves the user who started it; .* token/);
    assert.equal(type, "AuthenticationError");
    assert.ok(!body.includes(token));
  }
});

test("another user is let in by the token", { skip }, async () => {
  const { status } = await asOther("/api/health", { authorization: `bearer ${token}` });

  assert.equal(status, 200);
});

test("our own user needs no token, over IPv6 sockets either", async () => {
  const port = Number(new URL(control.endpoint).port);
  const ask = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host: `127.0.0.1:${port}` };
      const asked = request({ host, port, path: "/api/health", headers, agent: false });
      asked.once("error", reject).once("response", async (answer) => {
        await text(answer);
        resolve(answer.statusCode);
      });
      asked.end();
    });

  assert.deepEqual([await ask("127.0.0.1"), await ask("::ffff:127.0.0.1")], [200, 200]);
});

test("what another user sends is not carried out after they hung up", { skip }, async () => {
  const port = new URL(control.endpoint).port;
  const head = ["POST /status HTTP/1.1", "Host: localhost", "Content-Length: 0", "", ""];
  await asNobody(
    {},
    `const net = await import("node:net");
     for (let round = 0; round < 50; round += 1)
       await new Promise((resolve) => {
         const socket = net.connect(${port}, "127.0.0.1");
         socket.end(${JSON.stringify(head.join("\r\n"))}, () => socket.destroy());
         socket.once("close", resolve);
       });`,
  );

  const listed = await fetch(`${control.endpoint}/api/status?all_status=true`);
  assert.deepEqual(await listed.json(), []);
});

/** What asks for a WebSocket to a node. */
const upgradeHead = (...more: string[]) =>
  [
    "GET /kubernetes-pod-ssh-proxy?cluster_name=dev HTTP/1.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...more,
    "\r\n",
  ].join("\r\n");

test("a web page gets no WebSocket, from wherever it is and whatever name it gave us", async () => {
  const port = new URL(control.endpoint).port;
  const statusFor = async (...headers: string[]) => {
    const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
    socket.write(upgradeHead(...headers));
    const [said] = await once(socket, "data");
    socket.destroy();
    return String(said).split(" ")[1];
  };
  const own = `127.0.0.1:${port}`;

  assert.equal(await statusFor(`Host: ${own}`), "404", "there is no cluster dev");
  assert.equal(await statusFor(`Host: ${own}`, `Origin: http://${own}`), "404");
  for (const origin of ["http://example.org", "null", "http://127.0.0.1:8888", `https://${own}.x`])
    assert.equal(await statusFor(`Host: ${own}`, `Origin: ${origin}`), "403", origin);
  assert.equal(await statusFor("Host: rebound.example.org"), "403");
});

test("another user gets no WebSocket", { skip }, async () => {
  const port = new URL(control.endpoint).port;
  const said = await asNobody(
    {},
    `const net = await import("node:net");
     const socket = net.connect(${port}, "127.0.0.1");
     socket.write(${JSON.stringify(upgradeHead("Host: localhost"))});
     return String(await new Promise((resolve) => socket.once("data", resolve)));`,
  );

  assert.match(String(said), /^HTTP\/1\.1 401 /);
});

test("the connection of another user is closed once it is refused", { skip }, async () => {
  const port = new URL(control.endpoint).port;
  const said = await asNobody(
    {},
    `const net = await import("node:net");
     const socket = net.connect(${port}, "127.0.0.1");
     socket.write("GET /api/health HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n");
     const { text } = await import("node:stream/consumers");
     return text(socket);`,
  );

  assert.match(String(said), /^HTTP\/1\.1 401 [\s\S]*connection: close/i);
});

test("our command line takes the token from its environment, and shows it nowhere", {
  skip,
}, async () => {
  const run = (given: string) =>
    asNobody(
      { "run as runLine": "client/program.ts" },
      `const written = [];
       const stream = { write: (text) => written.push(text) };
       const code = await runLine(["status"], {
         env: { HOME: "/nonexistent", OUTRIGGER_ENDPOINT: "${control.endpoint}",
           OUTRIGGER_TOKEN: "${given}", LOG_LEVEL: "debug" },
         cwd: "/", streams: { stdout: stream, stderr: stream }, signal: new AbortController().signal });
       return { code, said: written.join("") };`,
    ) as Promise<{ code: number; said: string }>;

  const [letIn, refused] = [await run(token), await run("sky_guessed")];

  assert.equal(letIn.code, 0, letIn.said);
  assert.equal(refused.code, 4);
  assert.match(refused.said, /error: this control plane serves the user who started it/);
  assert.ok(!`${letIn.said}${refused.said}`.includes("sky_"));
});

test("the log of control never has the token", async () => {
  connect({ port: Number(new URL(control.endpoint).port) }).end("nonsense\r\n\r\n");
  const mark = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ env_vars: { SKYPILOT_SERVICE_ACCOUNT_TOKEN: token } });
  await fetch(`${control.endpoint}/status`, { method: "POST", headers: mark, body });
  await fetch(`${control.endpoint}/launch`, {
    method: "POST",
    headers: mark,
    body: `{"a": ${token}`,
  });

  assert.ok(!readFileSync(join(control.home, "control.log"), "utf8").includes(token));
});

test("the token is for us alone, and stays the same", async () => {
  assert.equal(statSync(join(control.home, "token")).mode & 0o777, 0o600);
  await control.end("SIGTERM");
  await control.start();

  assert.equal(readFileSync(join(control.home, "token"), "utf8").trim(), token);
});

test("a token that others can read, or that is none, is refused by the name of its file", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "token-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "token");
  const made = openToken(file);

  assert.match(made.reveal(), /^sky_[\w-]{43}$/);
  assert.equal(openToken(file).reveal(), made.reveal());
  chmodSync(file, 0o640);
  assert.throws(() => openToken(file), {
    name: "ConfigError",
    message: /token can be read by others; delete it/,
  });
});
