import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { withinTls } from "../../control/balancer/within-tls.ts";
import { until } from "../helpers/agent.ts";
import { aSidecar, bearer, engines } from "./bed.ts";

const skip = process.platform !== "linux" && "asks Linux about its sockets";
const longestSeconds = 15;

/**
 * Waits until the system is about to ask, of a connection to a port of this machine, whether the other
 * side is there, once that was silent for long. Source: proc_net_tcp(5), `tr` and `tm->when`.
 */
async function untilAsked(port: number): Promise<void> {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  await until(() => {
    const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
    const rows = lines.map((line) => line.trim().split(/\s+/));
    const row = rows.find(([, , to, state]) => to?.endsWith(remote) && state === "01");
    const [timer, ticks = ""] = row?.[5]?.split(":") ?? [];
    const isSoon = Number.parseInt(ticks, 16) / 100 <= longestSeconds;
    return timer === "02" && isSoon ? true : undefined;
  });
}

for (const [name, engine] of Object.entries(engines))
  test(`${name}: the system asks whether an upstream is there that says nothing`, {
    skip,
  }, async (t) => {
    const { upstream, dial } = await aSidecar(t, engine);
    dial().send(`GET / HTTP/1.1\r\nHost: a\r\n${bearer}\r\n`);
    await upstream.connection(1);

    await untilAsked(upstream.port);
  });

test("it asks so for servers that speak TLS", { skip }, async (t) => {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer(accepted.resolve).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const to = withinTls({ host: "127.0.0.1", port });
  assert.ok("connect" in to);
  const connecting = assert.rejects(to.connect());

  await untilAsked(port);
  (await accepted.promise).destroy();
  await connecting;
});
