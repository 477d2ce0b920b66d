import { writeSync } from "node:fs";
import { connect, type NetConnectOpts, Socket } from "node:net";
import type { Duplex } from "node:stream";

/** What is told of a connection. One object for each: no listener is made for a request. */
export interface Peer {
  /** Bytes 0 to `to` came; they are overwritten after the call. */
  read(bytes: Buffer, to: number): void;
  connected?(): void;
  /** The other side sends no more. */
  ended(): void;
  /** What `write` held back has left. */
  drained(): void;
  closed(error: Error | undefined): void;
}

const sharedBytes = 131_072;
const smallBytes = 16_384;
/** So many may hold what they did not read before all are read in small pieces. */
const holdingAtMost = 64;

/** All sockets read into this one buffer: what was read has left, or was copied, before the next read. */
export const shared: Buffer = Buffer.allocUnsafeSlow(sharedBytes);
const small = shared.subarray(0, smallBytes);

/** Heads are put together here, each with what came of its body. */
const scratch: Buffer = Buffer.allocUnsafeSlow(2 * sharedBytes);

/** Where to put together bytes for the next `write`. */
export const scratchFor = (bytes: number): Buffer =>
  bytes <= scratch.length ? scratch : Buffer.allocUnsafeSlow(bytes);

/** The connections with bytes that the system did not take, and where those are. */
const holding = new Map<Duplex, Buffer>();
/** Memory for such bytes: new memory costs more than the copy. */
const spare: Buffer[] = [];
const spareAtMost = 16;

/**
 * Writes bytes, which may be overwritten afterwards. False when some are held back, copied, and the peer
 * will be told when they are `drained`.
 */
export function write(line: Duplex, bytes: Buffer): boolean {
  const sent = writeNow(line, bytes);
  if (sent === bytes.length) return true;
  return hold(line, bytes.subarray(sent));
}

function hold(line: Duplex, rest: Buffer): boolean {
  if (!isOwn(line) || line.destroyed || holding.has(line)) return line.write(Buffer.from(rest));
  const buffer = bufferFor(rest.length);
  rest.copy(buffer);
  const hasLeft = line.write(buffer.subarray(0, rest.length));
  if (hasLeft) giveSpare(buffer);
  else holding.set(line, buffer);
  return hasLeft;
}

/** With few that hold, the same memory serves again and again; with many, each has what it needs. */
function bufferFor(bytes: number): Buffer {
  const isSpared = bytes <= sharedBytes && (spare.length > 0 || holding.size < spareAtMost);
  if (!isSpared) return Buffer.allocUnsafeSlow(bytes);
  return spare.pop() ?? Buffer.allocUnsafeSlow(sharedBytes);
}

/** All that was held for a connection has left, or never will. */
function letGo(line: Duplex): void {
  const buffer = holding.get(line);
  if (buffer !== undefined) giveSpare(buffer);
  holding.delete(line);
}

function giveSpare(buffer: Buffer): void {
  if (buffer.length === sharedBytes && spare.length < spareAtMost) spare.push(buffer);
}

/** Whether it was opened here: then every write that does not leave at once is followed by a `drain`. */
const isOwn = (line: Duplex): boolean => line.writableHighWaterMark === 1;

/**
 * Hands the system what it takes at once; returns how many bytes. Past the stream, as that would hold on to the
 * whole buffer for the sake of a rest. A write that fails is left to the stream, which tells why.
 */
function writeNow(line: Duplex, bytes: Buffer): number {
  if (!isReady(line)) return 0;
  try {
    return writeSync(line._handle.fd, bytes);
  } catch {
    return 0;
  }
}

/** Whether it is one of our own, open, and has nothing to send before. */
const isReady = (line: Duplex): line is Duplex & { _handle: { fd: number } } =>
  isOwn(line) &&
  line.writableLength === 0 &&
  line.writable &&
  line instanceof Socket &&
  !line.connecting &&
  (line as unknown as Bare)._handle !== null;

/** Whether all that was written has left, or is a copy of which there are not too many. */
export const hasLeft = (line: Duplex): boolean =>
  isOwn(line) ? line.writableLength === 0 : !line.writableNeedDrain;

/**
 * Any write that does not leave at once answers false, and every such write is followed by a
 * `drain`: so a buffer is known to be free, or to be held.
 */
const options = { allowHalfOpen: true, writableHighWaterMark: 1, noDelay: true };

/** Node.js asks for a buffer after each read, and when a socket is made. */
const takeBuffer = (): Buffer => (holding.size > holdingAtMost ? small : shared);

const onread = (peer: Peer) => ({
  buffer: takeBuffer,
  callback: (length: number, bytes: Uint8Array) => {
    peer.read(bytes as Buffer, length);
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
  tellPeer(line, peer).on("data", (bytes: Buffer) => peer.read(bytes, bytes.length));

/** What Node.js does not list of its sockets: the handle below, and how to close with a reset. */
interface Bare {
  _handle: { fd: number } | null;
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
    .on("drain", () => {
      letGo(line);
      peer.drained();
    })
    .on("error", (error) => {
      failure = error;
    })
    .on("close", () => {
      letGo(line);
      peer.closed(failure);
    });
}

/** Ends a connection at once, so that the other side cannot take what it has for the whole. */
export function reset(line: Duplex): void {
  if (line instanceof Socket && !("encrypted" in line))
    (line as unknown as Bare).resetAndClosing = !line.connecting && !line.writableEnded;
  line.destroy();
}
