import { connect, type Socket } from "node:net";

/** Keeps connections busy, and measures on each order how long the last of a crowd of new ones waits. */
const [busy = "", crowd = ""] = process.argv.slice(2);
const request = "GET /answer/2/0 HTTP/1.1\r\nHost: bench\r\n\r\n";

const dial = (port: number): Socket => connect({ port, host: "127.0.0.1", noDelay: true });

/** So many requests are under way on each busy connection. */
const inFlight = 16;

/** The size of an answer is known once the first one came. */
function keepBusy(port: number): Socket {
  const socket = dial(port).on("error", () => {});
  let answerBytes = 0;
  let left = 0;
  socket.on("connect", () => socket.write(request));
  socket.on("data", ({ length }: Buffer) => {
    answerBytes ||= length;
    left -= length;
    if (left > 0) return;
    left = inFlight * answerBytes;
    socket.write(request.repeat(inFlight));
  });
  return socket;
}

async function answered(port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = dial(port).on("error", reject);
  socket.on("connect", () => socket.write(request)).once("data", () => resolve());
  await promise;
  socket.destroy();
}

process.on("message", async ({ port }: { port: number }) => {
  const others = Array.from({ length: Number(busy) }, () => keepBusy(port));
  // All of them are served once one more is.
  for (let round = 0; round < 5; round++) await answered(port);
  const began = performance.now();
  await Promise.all(Array.from({ length: Number(crowd) }, () => answered(port)));
  const ms = performance.now() - began;
  for (const socket of others) socket.destroy();
  process.send?.({ ms });
});
