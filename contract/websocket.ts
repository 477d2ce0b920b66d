import { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** How clients and control carry bytes over a WebSocket. */

const largestBytes = 1 << 20;
/** Of either side: larger messages break the connection, and pings are answered below. */
export const socketOptions = {
  maxPayload: largestBytes,
  maxFragments: 1_024,
  perMessageDeflate: false,
  autoPong: false,
} as const;

/** The first byte of a message where messages have types; others need no answer. */
const types = { data: 0, ping: 1 } as const;

/**
 * The bytes of all messages of an open WebSocket, as one stream each way. Where it `isTyped`, each message begins
 * with a byte that says what it is, and pings are answered.
 */
export function streamOver(socket: WebSocket, isTyped = false): Duplex {
  const way = new Duplex({
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
  socket.on("close", () => way.push(null));
  socket.on("error", (error) => way.destroy(error));
  return way;
}
