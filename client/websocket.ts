import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { AppError } from "../common/errors.ts";
import { acceptOf, openWebSocket } from "../contract/websocket.ts";
import { trustAt } from "./endpoint.ts";
import { failureOf, unreachable } from "./failures.ts";

const handshakeMs = 10_000;

/** Opens a WebSocket as a stream of bytes; throws an AppError for a refusal. */
export async function connectSocket(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Duplex> {
  const { request } = await (url.protocol === "https:"
    ? import("node:https")
    : import("node:http"));
  const key = randomBytes(16).toString("base64");
  const asked = request(url, {
    headers: {
      ...headers,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
    },
    signal,
    timeout: handshakeMs,
    ...trustAt(url.origin),
  });
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  asked.once("timeout", () =>
    asked.destroy(new AppError("TimeoutError", `${url.origin} does not answer`)),
  );
  asked.once("error", (error) => reject(unreachable(url.origin, error)));
  asked.once("response", (answer) => void refusalOf(url.origin, answer).then(reject, reject));
  asked.once("upgrade", ({ headers: said }, socket, head) => {
    if (said["sec-websocket-accept"] !== acceptOf(key))
      return reject(new AppError("RuntimeError", `${url.origin} answers no WebSocket`));
    socket.setTimeout(0).setNoDelay(true);
    resolve(openWebSocket(socket, { side: "client", head }));
  });
  asked.end();
  return promise;
}

async function refusalOf(endpoint: string, answer: IncomingMessage): Promise<AppError> {
  return failureOf({ endpoint, status: answer.statusCode ?? 0, text: await text(answer) });
}
