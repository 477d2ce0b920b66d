import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { limitConnections } from "../../../control/http/connections.ts";
import { createListener, openRenewal } from "../../../control/http/listener.ts";
import { writeCertificate } from "../../helpers/certificates.ts";
import { testWorld } from "../../helpers/world.ts";
import { aUserWith, form } from "../sessions/a-login.ts";

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "tls-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Asks a server on a socket of the file system; what it answers, and the name in its certificate. */
async function ask(
  socketPath: string,
  ca: Buffer,
  options: { method?: string; path?: string; headers?: Record<string, string>; body?: string } = {},
) {
  const { body = "", ...call } = options;
  const req = request({ socketPath, ca, agent: false, servername: "control.example", ...call });
  req.end(body);
  const [answer] = (await once(req, "response")) as [IncomingMessage];
  const { subject } = (answer.socket as TLSSocket).getPeerCertificate();
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer), subject };
}

test("with a certificate control speaks HTTPS and nothing else, and says so to browsers", async (t) => {
  const files = writeCertificate(aFolder(t), "control.example");
  const world = await testWorld(t, { config: { login: ["password"], ...files } });
  await aUserWith(world.ctx, "ann", "right horse battery");
  const socket = `${world.home}.sock`;
  const ca = readFileSync(files.tlsCertFile);

  const health = await ask(socket, ca, { path: "/api/health" });
  assert.equal(health.status, 200);
  assert.equal(health.headers["strict-transport-security"], "max-age=31536000");
  const login = form({ name: "ann", password: "right horse battery" }, { host: "control.example" });
  const { status, headers } = await ask(socket, ca, { method: "POST", path: "/login", ...login });
  assert.equal(status, 302);
  assert.match(String(headers["set-cookie"]), /HttpOnly; SameSite=Lax; Secure$/);
  await assert.rejects(world.http("GET", "/api/health"));
});

test("a renewed certificate serves new connections, and a bad one is left alone", async (t) => {
  const folder = aFolder(t);
  const files = writeCertificate(folder, "control.example");
  const first = readFileSync(files.tlsCertFile);
  const server = createListener(files, {}, (_req, res) => void res.end("hi"));
  const socket = join(folder, "s");
  server.listen(socket);
  await once(server, "listening");
  t.after(() => void server.close());
  const renew = openRenewal(files, server);
  const later = (seconds: number) => {
    for (const file of Object.values(files)) utimesSync(file, seconds, seconds);
  };

  assert.equal(renew(), false);
  assert.equal((await ask(socket, first)).text, "hi");
  writeFileSync(files.tlsCertFile, "half a certif");
  later(1_000);
  assert.throws(renew, { type: "ConfigError" });
  assert.equal((await ask(socket, first)).text, "hi");
  writeCertificate(folder, "control.example");
  later(2_000);
  assert.equal(renew(), true);
  await assert.rejects(ask(socket, first), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  assert.equal((await ask(socket, readFileSync(files.tlsCertFile))).text, "hi");
});

test("files that are no certificate are named before anything is served", (t) => {
  const files = writeCertificate(aFolder(t), "control.example");
  writeFileSync(files.tlsKeyFile, "no key");

  const open = () => createListener(files, {}, () => {});
  assert.throws(open, { type: "ConfigError", message: /tls\.crt and .*tls\.key cannot be used/ });
});

test("a caller who was let in keeps the place of a connection over TLS, too", async (t) => {
  const files = writeCertificate(aFolder(t), "control.example");
  const server = createListener(files, {}, (req, res) => {
    connections.admit(req.socket);
    res.end("hi");
  });
  const connections = limitConnections(server, { connectionsAtMost: 9, connectionsPerAddress: 1 });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  t.after(() => {
    agent.destroy();
    server.close();
  });
  const call = async () => {
    const ca = readFileSync(files.tlsCertFile);
    const req = request({ host: "127.0.0.1", port, ca, servername: "control.example", agent });
    const [answer] = (await once(req.end(), "response")) as [IncomingMessage];
    return [await text(answer), req.reusedSocket];
  };

  assert.deepEqual(await call(), ["hi", false]);
  const other = connect(port, "127.0.0.1");
  assert.match(await text(other), /^HTTP\/1\.1 503 /);
  assert.deepEqual(await call(), ["hi", true]);
});
