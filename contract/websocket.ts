import { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { AppError } from "../common/errors.ts";

/** How clients and control carry bytes over a WebSocket. */

const largestBytes = 1 << 20;
/** Options of clients and servers. Larger messages break the connection; `streamOver` answers pings. */
export const socketOptions = {
  maxPayload: largestBytes,
  maxFragments: 1_024,
  perMessageDeflate: false,
  autoPong: false,
} as const;

/** The first byte of a message where messages have types; others need no answer. */
const types = { data: 0, ping: 1 } as const;

/** The code of a connection that ended without saying so. Source: RFC 6455 section 7.1.5. */
const brokenCode = 1_006;

/**
 * The bytes of all messages of an open WebSocket, as one stream each way. Where it `isTyped`, each message begins
 * with a byte that says what it is, and pings are answered. A connection that breaks destroys the stream with an error.
 */
export function streamOver(socket: WebSocket, isTyped = false): Duplex {
  const way = duplexOver(socket, isTyped);

  function answer(send: () => void): void {
    if (socket.bufferedAmount > largestBytes)
      way.destroy(new Error("it does not read its answers"));
    else send();
  }
  function pass(bytes: Buffer): void {
    if (bytes.length > 0 && !way.push(bytes)) socket.pause();
  }
  socket.on("message", (message: Buffer) => {
    if (!isTyped) pass(message);
    else if (message[0] === types.data) pass(message.subarray(1));
    else if (message[0] === types.ping) answer(() => socket.send(message));
  });
  socket.on("ping", (payload) => answer(() => socket.pong(payload)));
  socket.on("close", (code) => {
    if (code === brokenCode) way.destroy(new AppError("UnreachableError", "the connection broke"));
    else way.push(null);
  });
  socket.on("error", (error) => way.destroy(error));
  return way;
}

const duplexOver = (socket: WebSocket, isTyped: boolean): Duplex =>
  new Duplex({
    allowHalfOpen: false,
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, done) =>
      socket.send(isTyped ? Buffer.concat([Buffer.of(types.data), chunk]) : chunk, (error) =>
        // What comes after the end is for nobody.
        done(socket.readyState === socket.OPEN ? error : null),
      ),
    final: (done) => {
      if (socket.readyState === socket.CLOSED) return done();
      socket.once("close", () => done());
      socket.close(1_000);
    },
    destroy: (error, done) => {
      socket.terminate();
      done(error);
    },
  });
