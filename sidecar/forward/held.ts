import type { Exchange } from "./front.ts";
import { keep, type Outgoing, release } from "./outgoing.ts";

/** Of a body that comes while its request has no way yet, so much is read, and then no more. */
const restAtMost = 16_384;

/** A request whose way is not chosen yet. */
export class Held implements Exchange {
  readonly #request: Outgoing;

  constructor(request: Outgoing) {
    this.#request = request;
  }

  send(bytes: Buffer, from: number, to: number): boolean {
    keep(this.#request, bytes.subarray(from, to));
    return (this.#request.rest?.length ?? 0) < restAtMost;
  }

  sent(): void {}
  pause(): void {}
  resume(): void {}
  end(): void {}
  lose(): void {}

  abort(): void {
    release(this.#request);
  }
}
