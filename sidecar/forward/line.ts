import type { Duplex } from "node:stream";
import { hearOut } from "./read-to-end.ts";
import type { Address } from "./route.ts";
import { dial, lead, type Peer, reset, write } from "./sockets.ts";

/** A connection to an upstream, from the moment that it is asked for; its peer is told of it. */
export class Line {
  /** Undefined while somebody else connects it. */
  #stream: Duplex | undefined;
  #isOver = false;

  constructor(to: Address, peer: Peer) {
    if ("connect" in to) void this.#await(to.connect(), peer);
    else this.#stream = hearOut(dial(to, peer), peer);
  }

  async #await(connecting: Promise<Duplex>, peer: Peer): Promise<void> {
    try {
      this.#stream = lead(await connecting, peer);
    } catch (error) {
      return void peer.closed(error instanceof Error ? error : undefined);
    }
    if (this.#isOver) this.#stream.destroy();
    else peer.connected?.();
  }

  get isOpen(): boolean {
    return this.#stream?.destroyed === false;
  }

  /** Writes bytes, which may be overwritten afterwards; false when some are held back until the peer is `drained`. */
  write(bytes: Buffer): boolean {
    return this.#stream === undefined || write(this.#stream, bytes);
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  end(): void {
    this.#stream?.end();
  }

  destroy(): void {
    this.#isOver = true;
    this.#stream?.destroy();
  }

  /** Ends it so that the other side cannot take what it has for the whole. */
  reset(): void {
    this.#isOver = true;
    if (this.#stream !== undefined) reset(this.#stream);
  }
}
