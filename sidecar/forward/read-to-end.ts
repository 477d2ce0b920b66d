import { readSync } from "node:fs";
import type { Socket } from "node:net";
import type { Peer } from "./sockets.ts";

/** What Node.js does not list of its sockets. */
interface Bare {
  readonly _handle: { readonly fd: number } | null;
}

/**
 * Has a connection tell all that came over it even when a write to it fails. Who answers before it has
 * the whole request mostly closes with some of it unread: then TCP resets, and Node.js closes a socket
 * whose write fails without a look at what lies there, the answer.
 */
export function hearOut(socket: Socket, peer: Peer): Socket {
  const destroy = socket._destroy;
  socket._destroy = (error, done) => {
    const { _handle } = socket as unknown as Bare;
    if (_handle !== null && error !== null && "syscall" in error && error.syscall === "write")
      readRest(_handle.fd, peer);
    destroy.call(socket, error, done);
  };
  return socket;
}

const restBytes = 65_536;

function readRest(fd: number, peer: Peer): void {
  // Not the shared buffer: whoever wrote may not be done with what lies there.
  const bytes = Buffer.allocUnsafeSlow(restBytes);
  for (let to = readMore(fd, bytes); to > 0; to = readMore(fd, bytes)) peer.read(bytes, to);
}

/** How many bytes more are in the buffer; none where there is no more. */
function readMore(fd: number, bytes: Buffer): number {
  try {
    return readSync(fd, bytes);
  } catch {
    return 0;
  }
}
