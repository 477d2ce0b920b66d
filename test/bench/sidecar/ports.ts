import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const everyMs = 1;

/** Asks with these bytes again and again, as long as nobody listens; resolves with the answer. */
export async function untilAnswering(
  port: number,
  signal: AbortSignal,
  request = "GET /answer/2/0 HTTP/1.1\r\nHost: bench\r\n\r\n",
): Promise<string> {
  for (;;) {
    const answer = await ask(port, request);
    if (answer !== undefined) return answer;
    await sleep(everyMs, undefined, { signal });
  }
}

function ask(port: number, request: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.once("error", () => resolve(undefined)).once("connect", () => socket.write(request));
  socket.once("data", (bytes) => {
    resolve(bytes.toString("latin1"));
    socket.destroy();
  });
  return promise;
}
