import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { AppError, errorCodeOf } from "../common/errors.ts";
import { socketOptions, streamOver } from "../contract/websocket.ts";
import { trustAt } from "./endpoint.ts";
import { failureOf, unreachable } from "./failures.ts";

const handshakeMs = 10_000;
const refusalChars = 65_536;

/** Opens a WebSocket as a stream of bytes; throws an AppError for a refusal. */
export function connectSocket(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Duplex> {
  const { origin } = url;
  // @types/ws declares another return type for checkServerIdentity than node:tls.
  const options: object = { ...socketOptions, headers, signal, ...trustAt(origin) };
  const socket = new WebSocket(url, options);
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const refuse = (error: AppError) => {
    reject(error);
    socket.terminate();
  };
  const late = new AppError("TimeoutError", `${origin} does not answer`);
  const timer = setTimeout(refuse, handshakeMs, late);
  socket.once("unexpected-response", (_request, answer) => refusalOf(origin, answer).then(refuse));
  socket.once("error", (error) => reject(failed(origin, error)));
  socket.once("open", () => {
    const way = streamOver(socket);
    // It may break before its reader listens.
    way.on("error", () => {});
    resolve(way);
  });
  return promise.finally(() => clearTimeout(timer));
}

/** What ws itself says of a handshake has no code. */
const failed = (origin: string, error: Error): AppError =>
  errorCodeOf(error) === undefined
    ? new AppError("RuntimeError", `${origin} answers no WebSocket`, {}, error)
    : unreachable(origin, error);

/** What a refusal says, which a server may never end. */
async function refusalOf(endpoint: string, answer: IncomingMessage): Promise<AppError> {
  let text = "";
  try {
    for await (const chunk of answer.setEncoding("utf8")) {
      text += chunk;
      if (text.length > refusalChars) break;
    }
  } catch (error) {
    return unreachable(endpoint, error);
  }
  return failureOf({ endpoint, status: answer.statusCode ?? 0, text });
}
