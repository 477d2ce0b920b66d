import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { fail } from "../../common/errors.ts";
import { socketOptions } from "../../contract/websocket.ts";
import { part } from "./connections.ts";

interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
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

/** Source: RFC 6455 section 4.2.1. */
const keyPattern = /^[+/0-9A-Za-z]{22}==$/;

/** How to accept the WebSocket that a request asks for; throws `ValueError` when it asks for none. */
export function acceptanceOf({ raw, headers }: FastifyRequest, reply: FastifyReply) {
  const upgrade = upgrades.get(raw);
  const isAsked =
    headers["sec-websocket-version"] === "13" &&
    keyPattern.test(headers["sec-websocket-key"] ?? "");
  if (upgrade === undefined || !isAsked)
    fail("ValueError", "this address takes a WebSocket (version 13) and nothing else");
  const server = new WebSocketServer({ ...socketOptions, noServer: true, clientTracking: false });
  return (lead: (socket: WebSocket) => void): void => {
    reply.hijack();
    reply.raw.detachSocket(upgrade.socket);
    server.handleUpgrade(raw, upgrade.socket, upgrade.head, lead);
  };
}
