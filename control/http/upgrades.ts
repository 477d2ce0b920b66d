import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { fail } from "../../common/errors.ts";
import { acceptOf } from "../../contract/websocket.ts";
import { part } from "./connections.ts";

interface Upgrade {
  readonly socket: Socket;
  readonly head: Uint8Array;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Whether a connection is to become something that we speak. */
export const shouldUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket";

/** Sends requests for a WebSocket through the routes and their hooks, as all other requests. */
export function routeUpgrades(app: FastifyInstance): void {
  const open = new Set<Duplex>();
  app.server.on("upgrade", (req: IncomingMessage, socket: Socket, head: Buffer) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    upgrades.set(req, { socket, head });
    const res = new ServerResponse(req);
    res.assignSocket(socket);
    res.once("finish", () => part(socket));
    app.routing(req, res);
  });
  app.addHook("preClose", async () => {
    for (const socket of open) socket.destroy();
  });
}

/** Accepts a WebSocket once its route has let it in. */
export interface Acceptance {
  accept(): Upgrade;
}

/** How to accept the WebSocket that a request asks for; throws `ValueError` when it asks for none. */
export function acceptanceOf({ raw, headers }: FastifyRequest, reply: FastifyReply): Acceptance {
  const upgrade = upgrades.get(raw);
  const key = headers["sec-websocket-key"];
  if (upgrade === undefined || key === undefined || headers["sec-websocket-version"] !== "13")
    fail("ValueError", "this address takes a WebSocket (version 13) and nothing else");
  return {
    accept() {
      const { socket } = upgrade;
      reply.hijack();
      reply.raw.detachSocket(socket);
      socket.setNoDelay(true);
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
          `Sec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`,
      );
      return upgrade;
    },
  };
}
