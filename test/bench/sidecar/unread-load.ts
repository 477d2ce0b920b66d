import { connect, type Socket } from "node:net";

/** Asks for large answers on many connections, reads nothing of them, and leaves when it is told to. */
const [port = "", key = "", count = ""] = process.argv.slice(2);
const answerBytes = 8_388_608;
const request = `GET /answer/${answerBytes}/0 HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n\r\n`;

function ask(): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ port: Number(port), host: "127.0.0.1" }).on("error", reject);
  socket.pause().once("connect", () => socket.write(request, () => resolve(socket)));
  return promise;
}

const sockets = await Promise.all(Array.from({ length: Number(count) }, ask));
process.send?.("open");
process.once("message", () => {
  for (const socket of sockets) socket.destroy();
  process.send?.("left");
});
