import { connect, type NetConnectOpts, Socket } from "node:net";
import type { Duplex } from "node:stream";

/** What is told of a connection. One object for each: no listener is made for a request. */
export interface Peer {
  /**
   * Bytes 0 to `to` came; they are overwritten after the call unless the buffer is the peer's own.
   * Answers into what the next ones are to be read.
   */
  read(bytes: Buffer, to: number): Buffer;
  connected?(): void;
  /** The other side sends no more. */
  ended(): void;
  /** What `send` held back has left. */
  drained(): void;
  closed(error: Error | undefined): void;
}

const sharedBytes = 32_768;
const ownBytes = 131_072;
const scratchBytes = 65_536;

/** All sockets read into this one buffer, so that one at rest needs none. */
export const shared: Buffer = Buffer.allocUnsafeSlow(sharedBytes);

/** Heads and small pieces are put together here; replaced only while a write still holds it. */
let scratch: Buffer = Buffer.allocUnsafeSlow(scratchBytes);

/** Where to put together up to 64 KB for the next `sendScratch`. */
export const scratchFor = (bytes: number): Buffer =>
  bytes <= scratchBytes ? scratch : Buffer.allocUnsafeSlow(bytes);

/**
 * What a peer reads into next: a socket that fills a buffer has much to say, gets one of its own,
 * and from then on its bytes are passed on without a copy.
 */
export const bufferAfter = (last: Buffer, read: number): Buffer => {
  if (read < last.length) return last;
  return last === shared ? Buffer.allocUnsafeSlow(ownBytes) : last;
};

/**
 * Writes bytes; false when they are held until `drained`. A stream that was not opened here may hold
 * some without a word, so it gets a copy.
 */
export const write = (line: Duplex, bytes: Buffer): boolean =>
  line.write(line.writableHighWaterMark === 1 ? bytes : Buffer.from(bytes));

/** Whether all that was written has left, or is a copy of which there are not too many. */
export const hasLeft = (line: Duplex): boolean =>
  line.writableHighWaterMark === 1 ? line.writableLength === 0 : !line.writableNeedDrain;

/** Writes the first bytes of a `scratchFor` buffer; false when they are held back. */
export function sendScratch(line: Duplex, buffer: Buffer, length: number): boolean {
  const isGone = write(line, buffer.subarray(0, length));
  if (!isGone && buffer === scratch) scratch = Buffer.allocUnsafeSlow(scratchBytes);
  return isGone;
}

/** Passes bytes on; false when they are held back, and it will be told when that is `drained`. */
export function send(line: Duplex, bytes: Buffer, from: number, to: number): boolean {
  if (bytes !== shared) return write(line, bytes.subarray(from, to));
  bytes.copy(scratch, 0, from, to);
  return sendScratch(line, scratch, to - from);
}

/**
 * Any write that does not leave at once answers false, and every such write is followed by a
 * `drain`: so a buffer is known to be free, or to be held.
 */
const options = { allowHalfOpen: true, writableHighWaterMark: 1, noDelay: true };

/** What the peer that was just told of bytes has answered. */
let next: Buffer = shared;

/** Node.js asks for a buffer right after it told of bytes, and when a socket is made. */
function takeNext(): Buffer {
  const buffer = next;
  next = shared;
  return buffer;
}

const onread = (peer: Peer) => ({
  buffer: takeNext,
  callback: (length: number, bytes: Uint8Array) => {
    next = peer.read(bytes as Buffer, length);
    return true;
  },
});

/**
 * A machine whose power fails says nothing: an upstream that is silent for so long is asked by the
 * system whether it is there, ten times within ten seconds, and cut when it is not.
 */
export const keepAliveMs = 15_000;
const keepAlive = { keepAlive: true, keepAliveInitialDelay: keepAliveMs };

/** Opens a connection for a peer. */
export const dial = (to: NetConnectOpts, peer: Peer): Socket =>
  tellPeer(connect({ ...options, ...keepAlive, ...to, onread: onread(peer) }), peer);

/** Takes over a stream that somebody else has connected. */
export const lead = <Line extends Duplex>(line: Line, peer: Peer): Line =>
  tellPeer(line, peer).on("data", (bytes: Buffer) => void peer.read(bytes, bytes.length));

/** What Node.js does not list of its sockets: the handle below, and how to close with a reset. */
interface Bare {
  _handle: object | null;
  resetAndClosing: boolean;
}

/**
 * Takes over a connection that a server accepted with `pauseOnConnect`. Its own socket cannot read
 * into a given buffer, and what it reads costs an allocation and a walk through a stream.
 */
export function adopt(accepted: Socket, peer: Peer): Socket {
  const bare = accepted as unknown as Bare;
  const handle = bare._handle;
  bare._handle = null;
  accepted.destroy();
  return tellPeer(new Socket({ ...options, handle, onread: onread(peer) } as object), peer);
}

function tellPeer<Line extends Duplex>(line: Line, peer: Peer): Line {
  let failure: Error | undefined;
  return line
    .on("connect", () => peer.connected?.())
    .on("end", () => peer.ended())
    .on("drain", () => peer.drained())
    .on("error", (error) => {
      failure = error;
    })
    .on("close", () => peer.closed(failure));
}

/** Ends a connection at once, so that the other side cannot take what it has for the whole. */
export function reset(line: Duplex): void {
  if (line instanceof Socket && !("encrypted" in line))
    (line as unknown as Bare).resetAndClosing = !line.connecting && !line.writableEnded;
  line.destroy();
}
