import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** How many connections are on their way at a time: a listening socket's backlog is finite. */
const atOnce = 200;

const { hostname, port, host } = new URL(process.argv[2] ?? "");
const [ids] = (await once(process, "message")) as [string[]];
const sockets: Socket[] = [];
while (ids.length > 0) sockets.push(...(await Promise.all(ids.splice(0, atOnce).map(poll))));
for (const socket of sockets) socket.on("data", (text) => fail(String(text)));
process.send?.("all open");

/** Plain sockets, so that ten thousand of them fit. Nothing comes back before the request ends. */
async function poll(id: string): Promise<Socket> {
  const socket = connect(Number(port), hostname);
  socket.on("error", (error) => fail(error.message));
  socket.on("close", () => fail("control closed a long poll"));
  await once(socket, "connect");
  socket.write(`GET /api/get?request_id=${id} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  return socket;
}

function fail(why: string): never {
  console.error(`long poll broke off: ${why}`);
  process.exit(1);
}
