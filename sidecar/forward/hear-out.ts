import { readSync } from "node:fs";
import type { Socket } from "node:net";
import { type Peer, shared } from "./sockets.ts";

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

function readRest(fd: number, peer: Peer): void {
  for (let to = readMore(fd); to > 0; to = readMore(fd)) peer.read(shared, to);
}

/** How many bytes more are in the shared buffer; none where there is no more. */
function readMore(fd: number): number {
  try {
    return readSync(fd, shared);
  } catch {
    return 0;
  }
}
