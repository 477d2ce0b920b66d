import type { Socket } from "node:net";
import { type Refusal, refusals } from "../refusals.ts";
import type { OwnAnswerTo } from "./answers.ts";
import type { Passage } from "./passage.ts";
import { hasLeft, write } from "./sockets.ts";

/** What leaves for a client: written down in its passage; `held` is told when the client reads too slowly. */
export class Outlet {
  readonly #socket: Socket;
  readonly #passage: Passage;
  readonly #ownAnswerTo: OwnAnswerTo;
  readonly #held: () => void;

  constructor(socket: Socket, passage: Passage, ownAnswerTo: OwnAnswerTo, held: () => void) {
    this.#socket = socket;
    this.#passage = passage;
    this.#ownAnswerTo = ownAnswerTo;
    this.#held = held;
  }

  /** Sends a head, and what of the body came with it. */
  head(buffer: Buffer, length: number, status: number): void {
    if (status >= 200 || status === 101) this.#passage.status = status;
    this.#passage.bytesOut += length;
    if (!write(this.#socket, buffer.subarray(0, length))) this.#held();
  }

  /** Passes bytes of an answer, or of a tunnel, on. */
  pass(bytes: Buffer, from: number, to: number): void {
    this.#passage.bytesOut += to - from;
    if (!write(this.#socket, bytes.subarray(from, to))) this.#held();
  }

  /** Sends the sidecar's own answer. */
  refuse(refusal: Refusal, staysOpen: boolean): void {
    const answer = this.#ownAnswerTo(refusal, this.#passage.method, staysOpen);
    this.#passage.status = refusals[refusal].status;
    this.#passage.bytesOut = answer.length;
    if (!write(this.#socket, answer)) this.#held();
  }

  /** Whether all that was sent has left. */
  get isClear(): boolean {
    return hasLeft(this.#socket);
  }
}
