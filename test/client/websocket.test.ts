import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { connectSocket } from "../../client/websocket.ts";

const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
const detail = JSON.stringify({ detail: { type: "PermissionDeniedError", message: "not yours" } });
const refusal = `HTTP/1.1 403 Forbidden\r\nContent-Length: ${detail.length}\r\n\r\n${detail}`;
const endless = `HTTP/1.1 403 Forbidden\r\n\r\n${"x".repeat(100_000)}`;

for (const [answer, name, message] of [
  [`${upgrade}Sec-WebSocket-Accept: wrong\r\n\r\n`, "RuntimeError", /answers no WebSocket$/],
  ["", "TimeoutError", /does not answer$/],
  [refusal, "PermissionDeniedError", /^not yours$/],
  [endless, "PermissionDeniedError", /it denies access$/],
  ["hello\r\n\r\n", "ConfigError", /answered without HTTP/],
] as const)
  test(`a server that answers ${JSON.stringify(answer.slice(0, 12))} is a ${name}`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const server = createServer((socket) => {
      socket
        .on("error", () => {})
        .once("data", () => {
          if (answer === "") t.mock.timers.tick(10_000);
          else socket.write(answer);
        });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;

    const connecting = connectSocket(new URL(`http://127.0.0.1:${port}/ssh`), {}, t.signal);

    await assert.rejects(connecting, { name, message });
  });
