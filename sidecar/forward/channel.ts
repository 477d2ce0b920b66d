import { Duplex } from "node:stream";
import type { Refusal } from "../refusals.ts";
import type { Caller, Exchange } from "./front.ts";
import type { Address } from "./route.ts";

/**
 * Carries one checked request into a server of `node:http` in this process, over a connection that is
 * no socket, and the bytes of its answer back to the client.
 */
export class Channel implements Exchange {
  /** The connection's other end. */
  readonly inner: Duplex;
  readonly to: Address;
  /** Of the answer, known before its bytes come. */
  status = 0;
  /** Undefined once nobody waits for the answer any more. */
  client: Caller | undefined;
  #isHeld = false;
  #proceed: (() => void) | undefined;

  constructor(client: Caller, to: Address) {
    this.client = client;
    this.to = to;
    this.inner = new Duplex({
      // Node.js hands out heads as texts, and names the wrong encoding for some.
      decodeStrings: false,
      read: () => this.client?.resume(),
      write: (chunk: Buffer | string, _encoding, done) =>
        this.#deliver(typeof chunk === "string" ? Buffer.from(chunk, "latin1") : chunk, done),
    });
    const { rest, ...request } = client.request;
    this.send(request.bytes, 0, request.to);
    if (rest !== undefined) this.send(rest, 0, rest.length);
  }

  #deliver(chunk: Buffer, done: () => void): void {
    const client = this.client;
    if (client === undefined) return void done();
    client.awaitNext();
    client.out.head(chunk, chunk.length, this.status);
    if (this.#isHeld) this.#proceed = done;
    else done();
  }

  /** Sends the client a head that comes before its answer. */
  inform(head: string): void {
    const bytes = Buffer.from(head, "latin1");
    if (this.client?.passage.minor === 1) this.client.out.head(bytes, bytes.length, 0);
  }

  /** The answer has left. */
  finish(): void {
    const client = this.client;
    this.abort();
    client?.answered();
  }

  /** There will be no answer, or no more of it. */
  fail(refusal: Refusal): void {
    const client = this.client;
    this.abort();
    client?.fail(refusal);
  }

  send(bytes: Buffer, from: number, to: number): boolean {
    return this.inner.push(Buffer.from(bytes.subarray(from, to)));
  }

  sent(): void {}

  pause(): void {
    this.#isHeld = true;
  }

  resume(): void {
    const proceed = this.#proceed;
    this.#isHeld = false;
    this.#proceed = undefined;
    proceed?.();
  }

  end(): void {}

  lose(): void {
    this.fail("upstreamRefused");
  }

  abort(): void {
    this.client = undefined;
    this.resume();
    this.inner.destroy();
  }
}
