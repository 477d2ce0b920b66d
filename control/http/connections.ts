import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../config.ts";

export type ConnectionLimits = Pick<Config, "connectionsAtMost" | "connectionsPerAddress">;

/** Answers connections 503, and closes them, where there are too many in all or from one address. */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const { connectionsAtMost, connectionsPerAddress } = limits;
  const open = new Map<string, number>();
  let all = 0;
  const serve = server.listeners("connection");
  server.removeAllListeners("connection");

  server.on("connection", (socket: Socket) => {
    const { remoteAddress = "" } = socket;
    const own = open.get(remoteAddress) ?? 0;
    if (all >= connectionsAtMost || own >= connectionsPerAddress)
      return refuseOn(socket, "503 Service Unavailable", tooMany);
    all += 1;
    open.set(remoteAddress, own + 1);
    socket.once("close", () => {
      all -= 1;
      const left = (open.get(remoteAddress) ?? 1) - 1;
      if (left > 0) open.set(remoteAddress, left);
      else open.delete(remoteAddress);
    });
    for (const listener of serve) listener.call(server, socket);
  });
}

const tooMany = "too many connections are open to control; close some, and try again";
/** For the client to read why. */
const partingMs = 1_000;

/** Answers on a connection that is not served any further, and closes it. */
export function refuseOn(socket: Socket, status: string, detail: string): void {
  const body = JSON.stringify({ detail });
  const head =
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  part(socket, head + body);
}

/** Says the last there is to say on a connection, and closes it also when its client does not. */
export function part(socket: Duplex, answer = ""): void {
  socket.on("error", () => socket.destroy());
  socket.end(answer);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), partingMs);
  socket.once("close", () => clearTimeout(timer));
}
