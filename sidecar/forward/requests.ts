import { newBody, readBody, startBody } from "../body.ts";
import { parseRequestHead } from "../head.ts";
import type { RequestHead } from "../request-head.ts";
import type { Caller } from "./front.ts";
import { Intake } from "./input-buffer.ts";
import { canDiscard } from "./outgoing.ts";
import { beginPassage, pathOf } from "./passage.ts";

/**
 * What the next bytes of a client are: a head; a body that is passed on; nothing yet, as an answer is
 * under way; a body that nobody wants; bytes of a tunnel; or nothing any more.
 */
type Phase = "head" | "body" | "answer" | "discard" | "tunnel" | "over";

/** Cuts what a client sends into requests, one after the other. */
export class Requests {
  phase: Phase = "head";
  /** Whether another request may follow this one. */
  canFollow = false;
  /** Whether a head has begun and is not whole. */
  isPartial = false;
  readonly intake = new Intake();
  readonly #client: Caller;
  readonly #body = newBody();

  constructor(client: Caller) {
    this.#client = client;
  }

  /** Whether the client has to send more before it can be answered. */
  get isOwed(): boolean {
    return this.phase === "body" && !this.intake.isPaused;
  }

  /** Takes what came. */
  read(bytes: Buffer, to: number): void {
    this.#consume(this.intake.add(bytes, to), this.intake.to);
  }

  /** The last request is done with: reads on, and what had to wait first. */
  goOn(phase: "head" | "tunnel"): void {
    this.phase = phase;
    const held = this.intake.release();
    if (held !== undefined) this.#consume(held, held.length);
  }

  /** Whatever comes is not looked at any more. */
  end(): void {
    this.phase = "over";
    this.intake.release();
  }

  #consume(bytes: Buffer, to: number): void {
    for (let at = 0; at < to; ) {
      const next = this.#step(bytes, at, to);
      if (next === at) return void this.#hold(bytes, at, to);
      at = next;
    }
  }

  /** Takes what it can; answers the offset after that, which is `from` when it must wait. */
  #step(bytes: Buffer, from: number, to: number): number {
    switch (this.phase) {
      case "head":
        return this.#readHead(bytes, from, to);
      case "body":
        return this.#readBody(bytes, from, to);
      case "discard":
        return this.#discard(bytes, from, to);
      case "tunnel":
        this.#client.passOn(bytes, from, to);
        return to;
      case "answer":
        return from;
      default:
        return to;
    }
  }

  #hold(bytes: Buffer, from: number, to: number): void {
    const isMuch = this.intake.hold(bytes, from, to);
    if (isMuch && this.phase === "answer") this.intake.pause(this.#client.socket);
    if (this.phase !== "head" || this.isPartial) return;
    this.isPartial = true;
    this.#client.awaitBytes(this.#client.front.limits.headMs);
  }

  #readHead(bytes: Buffer, from: number, to: number): number {
    const { front, passage } = this.#client;
    const { head, authorize, observer } = front;
    if (parseRequestHead(head, bytes, from, to) === "incomplete") return from;
    beginPassage(passage, head);
    this.isPartial = false;
    this.canFollow = head.minor === 1 && !head.close;
    startBody(this.#body, head.framing, head.length);
    if (head.refusal !== undefined) {
      this.#client.refuse(head.refusal);
      return to;
    }
    if (observer.wantsPath) passage.path = pathOf(head, bytes);
    const keyId = authorize(head, bytes);
    if (keyId !== undefined) return this.#forward(head, bytes, to, keyId);
    this.canFollow &&= canDiscard(head);
    if (!this.#body.isWhole) this.phase = "discard";
    this.#client.refuse("unauthorized");
    return head.to;
  }

  #forward(head: RequestHead, bytes: Buffer, to: number, keyId: string): number {
    const bodyTo = readBody(this.#body, bytes, head.to, to);
    if (this.#body.isBad) {
      this.#client.refuse("badChunk");
      return to;
    }
    this.phase = this.#body.isWhole ? "answer" : "body";
    this.#client.passage.keyId = keyId;
    this.#client.forward(head, bytes, bodyTo);
    return bodyTo;
  }

  #readBody(bytes: Buffer, from: number, to: number): number {
    const end = readBody(this.#body, bytes, from, to);
    if (this.#body.isBad) {
      this.#client.giveUp("badChunk");
      return to;
    }
    if (this.#body.isWhole) this.phase = "answer";
    this.#client.passOn(bytes, from, end);
    return end;
  }

  #discard(bytes: Buffer, from: number, to: number): number {
    const end = readBody(this.#body, bytes, from, to);
    if (!this.#body.isWhole) return end;
    this.phase = "answer";
    this.#client.goOn();
    return end;
  }
}
