import assert from "node:assert/strict";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, WebSocket } from "undici";
import { serveOperations as rows } from "../../contract/operations/serve.ts";
import { aPair } from "../control/balancer/certificates.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { startControl } from "../helpers/programs.ts";
import {
  aService,
  clientOf,
  endBalancer,
  key,
  openStream,
  servers,
  serviceOf,
  unharmed,
  untilAnswers,
} from "./service.ts";

test("a service that speaks TLS", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t, { env: { LOG_LEVEL: "debug" } });
  const { home, cli, client } = control;
  const at = (name: string) => join(home, name);
  const [first, second] = [aPair("first"), aPair("second")];
  const task = (model: string) =>
    aService(control, {
      model,
      run: `unset API_KEY; ${servers.node}`,
      service: {
        auth: { api_key: "$API_KEY" },
        tls: { keyfile: "service.key", certfile: "service.crt" },
      },
    });

  /** Puts the files of the service beside its document. */
  function write(model: string, pair: { key: string; cert: string }): void {
    writeFileSync(at("chat.yaml"), task(model));
    writeFileSync(at("service.key"), pair.key, { mode: 0o600 });
    writeFileSync(at("service.crt"), pair.cert);
  }

  await t.test("is refused at once without its files, or with wrong ones", async () => {
    const up = async (pair: { key: string; cert: string }) => {
      write("v1", pair);
      const { code, stderr } = await cli("serve", "up", "-y", "-n", "chat", "chat.yaml");
      assert.notEqual(code, 0);
      return stderr;
    };
    writeFileSync(at("chat.yaml"), task("v1"));
    const missing = await cli("serve", "up", "-y", "-n", "chat", "chat.yaml");
    assert.match(missing.stderr, /there is no .*service\.key/);
    assert.match(
      await up({ ...first, cert: "" }),
      /service\.tls: .*service\.crt is not a PEM certificate/,
    );
    assert.match(await up({ ...first, key: second.key }), /service\.tls: .* is not the key of/);
    assert.equal(await serviceOf(control, "chat").status(), undefined);
  });

  write("v1", first);
  const service = serviceOf(control, "chat");
  const { stdout, stderr } = await cli("serve", "up", "-y", "-n", "chat", "chat.yaml");
  const endpoint = stdout.trim();
  assert.match(endpoint, /^https:/, stderr);
  const models = clientOf(t, endpoint, first.cert, second.cert);

  await t.test("answers whoever trusts its certificate, with the key, as it comes", async () => {
    await service.untilReady(2);
    assert.equal((await models.who()).model, "v1");
    assert.equal((await models.get("/v1/models", null)).status, 401);
    const gate = at("gate");
    const stream = openStream(models, gate);
    await stream.begun;
    writeFileSync(gate, "");
    assert.equal(await stream.whole, 4);
    await assert.rejects(clientOf(t, endpoint, second.cert).who(), /self-signed certificate/);
    await assert.rejects(clientOf(t, endpoint.replace("https", "http")).who());
  });

  await t.test("lets WebSockets through", async () => {
    const dispatcher = new Agent({ connect: { ca: first.cert } });
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(endpoint.replace("https", "wss"), { dispatcher, headers });
    await once(socket, "open");
    socket.send("hello");
    const [{ data }] = await once(socket, "message");
    assert.equal(data, "hello");
    socket.close();
    await once(socket, "close");
    await dispatcher.close();
  });

  await t.test("meets new clients with the certificate of an update; none fails", async () => {
    const gate = at("updated");
    const open = openStream(models, gate);
    await open.begun;
    const update = () => cli("serve", "update", "-y", "chat", "chat.yaml", "-d");
    await unharmed(models, "mixed", async () => {
      write("v2", { ...second, key: first.key });
      assert.match((await update()).stderr, /service\.tls: .* is not the key of/);
      write("v2", second);
      const { code, stderr } = await update();
      assert.equal(code, 0, stderr);
      await service.until(({ replica_info }) => replica_info.some(({ version }) => version === 2));
      writeFileSync(gate, "");
      assert.equal(await open.whole, 4);
      await service.untilReady(2, 2);
    });
    assert.equal((await clientOf(t, endpoint, second.cert).who()).model, "v2");
    await assert.rejects(clientOf(t, endpoint, first.cert).who(), /self-signed certificate/);
  });

  await t.test("speaks it also once control and its balancer were killed", async () => {
    await control.end("SIGKILL");
    await control.start();
    await endBalancer(control);
    await untilAnswers(clientOf(t, endpoint, second.cert));
  });

  await t.test("tells its key to nobody", async () => {
    const shown = await Promise.all([
      client.callAndGet(rows.status, { service_names: null }),
      client.read("/api/status", { all_status: true }),
      cli("serve", "status", "-v", "chat"),
      service.log("controller"),
      service.log("load_balancer"),
    ]);
    assert.match(JSON.stringify(shown), /"tls_encrypted":true/);
    for (const secret of [first, second].map(({ key }) => lineOf(key))) {
      const kept = findLeaks(secret, home).filter((file) => file !== at("service.key"));
      assert.deepEqual(
        kept.filter((file) => !isPrivateUpload(file)),
        [],
      );
      assert.equal(kept.length, 1);
      assert.ok(!JSON.stringify(shown).includes(secret));
    }
  });

  await service.down();
});

/** What no other key has. */
const lineOf = (pem: string): string => pem.split("\n")[2] ?? "";

/** The files of a document are kept as they came, for nobody but control. */
const isPrivateUpload = (file: string): boolean =>
  file.includes("/control/clients/") && (statSync(file).mode & 0o077) === 0;
