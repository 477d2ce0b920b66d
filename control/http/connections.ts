import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../config.ts";

export type ConnectionLimits = Pick<Config, "connectionsAtMost" | "connectionsPerAddress">;

/** The open connections of a server. */
export interface Connections {
  /** Lets a connection keep its place: its caller may use control. */
  admit(socket: Socket): void;
}

/** The connections from one address, oldest first. */
interface Group {
  readonly open: Set<Socket>;
  readonly unadmitted: Map<unknown, Socket>;
}

/** The same for a connection and for what TLS makes of it. */
const keyOf = (socket: Socket): unknown => socket.remotePort ?? socket;

/**
 * Limits the connections in all and from one address. Beyond, the oldest one of that address that is not
 * admitted is closed; where there is none, the new one is answered 503. So other users of this machine,
 * who share its address, cannot use up the places of its owner.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): Connections {
  const { connectionsAtMost, connectionsPerAddress } = limits;
  const groups = new Map<string, Group>();
  let all = 0;
  const serve = server.listeners("connection");
  server.removeAllListeners("connection");

  function leave(address: string, group: Group, key: unknown, socket: Socket): void {
    const { open, unadmitted } = group;
    if (!open.delete(socket)) return;
    unadmitted.delete(key);
    all -= 1;
    if (open.size === 0) groups.delete(address);
  }

  server.on("connection", (socket: Socket) => {
    const { remoteAddress: address = "" } = socket;
    const group = groups.get(address) ?? { open: new Set(), unadmitted: new Map() };
    if (all >= connectionsAtMost || group.open.size >= connectionsPerAddress) {
      const [oldest] = group.unadmitted;
      if (oldest === undefined) return refuseOn(socket, "503 Service Unavailable", tooMany);
      const [key, stranger] = oldest;
      leave(address, group, key, stranger);
      stranger.destroy();
    }
    const key = keyOf(socket);
    all += 1;
    groups.set(address, group);
    group.open.add(socket);
    group.unadmitted.set(key, socket);
    socket.once("close", () => leave(address, group, key, socket));
    for (const listener of serve) listener.call(server, socket);
  });
  return {
    admit: (socket) =>
      void groups.get(socket.remoteAddress ?? "")?.unadmitted.delete(keyOf(socket)),
  };
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
