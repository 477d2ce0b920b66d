import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import { AppError } from "../common/errors.ts";
import { socketOptions, streamOver } from "../contract/websocket.ts";
import { trustAt } from "./endpoint.ts";
import { failureOf, unreachable } from "./failures.ts";

const handshakeTimeout = 10_000;

/** Opens a WebSocket as a stream of bytes; throws an AppError for a refusal. */
export function connectSocket(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Duplex> {
  const { origin } = url;
  // The types of ws say of one of these that it answers otherwise than node:tls asks.
  const options: object = {
    ...socketOptions,
    headers,
    handshakeTimeout,
    signal,
    ...trustAt(origin),
  };
  const socket = new WebSocket(url, options);
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  socket.once("unexpected-response", (_request, answer) => refusalOf(origin, answer).then(reject));
  socket.once("error", (error) => reject(failed(origin, error)));
  socket.once("open", () => resolve(streamOver(socket)));
  return promise;
}

const failed = (origin: string, error: Error): AppError =>
  /timed out/.test(error.message)
    ? new AppError("TimeoutError", `${origin} does not answer`, {}, error)
    : unreachable(origin, error);

const refusalOf = (endpoint: string, answer: IncomingMessage): Promise<AppError> =>
  text(answer).then(
    (said) => failureOf({ endpoint, status: answer.statusCode ?? 0, text: said }),
    (error) => unreachable(endpoint, error),
  );
