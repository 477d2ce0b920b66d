import { type AnswerHead, hasBody, newAnswerHead, parseAnswerHead } from "../answer-head.ts";
import { newBody, readBody, startBody } from "../body.ts";
import type { Refusal } from "../refusals.ts";
import type { Caller, Exchange } from "./front.ts";
import { copy, roomForAnswer, writeAnswerHead } from "./heads.ts";
import { Intake } from "./input-buffer.ts";
import { Line } from "./line.ts";
import { keep, type Outgoing, release } from "./outgoing.ts";
import type { Address } from "./route.ts";
import { type Peer, scratchFor } from "./sockets.ts";

/** Where a connection waits for its next request. */
export interface Berth {
  readonly address: Address;
  /** A connection is open, or will never be. */
  settled(upstream: Upstream): void;
  /** Takes what the upstream says of how long it keeps connections. */
  learn(seconds: number): void;
  /** Keeps a connection for the next request. */
  give(upstream: Upstream, nowMs: number): void;
  /** Sends it once more, over a new connection. */
  retry(client: Caller): void;
}

/**
 * `connecting`, with a request that waits for it; `idle` in the pool; then what the next bytes are:
 * an answer's head, its body, or a tunnel's.
 */
type Phase = "connecting" | "idle" | "head" | "body" | "tunnel" | "closed";

/** The one head that is looked at; nothing of it is needed afterwards. */
const head: AnswerHead = newAnswerHead();

/** One connection to the upstream, and the client whose request it carries. */
export class Upstream implements Peer, Exchange {
  /** Until when it may be connecting, or wait in the pool. */
  expiresMs = 0;
  readonly #pool: Berth;
  readonly #line: Line;
  readonly #intake = new Intake();
  readonly #body = newBody();
  #phase: Phase = "connecting";
  #client: Caller | undefined;
  #request: Outgoing | undefined;
  #isReused = false;
  #isSent = false;
  #canStay = false;

  constructor(pool: Berth) {
    this.#pool = pool;
    this.#line = new Line(pool.address, this);
  }

  /** Whether it can carry a request now. */
  isOpen(nowMs: number): boolean {
    return this.#phase === "idle" && nowMs < this.expiresMs && this.#line.isOpen;
  }

  /** Sends the client's request, once there is a connection; the answer goes to it. */
  begin(client: Caller): void {
    this.#client = client;
    this.#request = client.request;
    this.#isSent = false;
    this.#isReused = this.#phase === "idle";
    if (this.#isReused) this.#start(client);
  }

  connected(): void {
    this.#pool.settled(this);
    if (this.#client === undefined) return;
    this.#client.awaitNext();
    this.#start(this.#client);
  }

  #start(client: Caller): void {
    const { bytes, to, rest } = client.request;
    this.#phase = "head";
    this.#line.write(bytes.subarray(0, to));
    if (rest !== undefined && this.#line.write(rest)) client.resume();
  }

  send(bytes: Buffer, from: number, to: number): boolean {
    if (this.#phase !== "connecting") return this.#line.write(bytes.subarray(from, to));
    if (this.#request !== undefined) keep(this.#request, bytes.subarray(from, to));
    return false;
  }

  sent(): void {
    this.#isSent = true;
  }

  pause(): void {
    this.#intake.pause(this.#line);
  }

  resume(): void {
    this.#intake.resume(this.#line);
  }

  end(): void {
    this.#line.end();
  }

  abort(): void {
    this.#client = undefined;
    this.#leave();
    this.#line.reset();
  }

  /** Ends as if the upstream had broken off; another connection there would be in vain. */
  lose(): void {
    if (this.#phase === "connecting") return void this.fail("upstreamRefused");
    this.#isReused = false;
    this.#line.reset();
  }

  /** Ends a connection on which nothing is under way. */
  close(): void {
    this.#leave();
    this.#line.destroy();
  }

  drained(): void {
    this.#client?.resume();
  }

  read(bytes: Buffer, to: number): void {
    const client = this.#client;
    // An upstream that speaks unasked may mean another request than the next one.
    if (client === undefined) this.close();
    else this.#take(client, bytes, to);
  }

  #take(client: Caller, bytes: Buffer, to: number): void {
    client.awaitNext();
    if (this.#phase === "body") return void this.#readBody(client, bytes, 0, to);
    if (this.#phase === "tunnel") return void client.out.pass(bytes, 0, to);
    this.#readHead(client, this.#intake.add(bytes, to), 0, this.#intake.to);
  }

  #readHead(client: Caller, bytes: Buffer, from: number, to: number): void {
    const found = parseAnswerHead(head, client.passage.method, bytes, from, to);
    if (found === "refused") return void this.fail("upstreamInvalid");
    if (found === "incomplete") {
      this.#intake.hold(bytes, from, to);
      return;
    }
    if (head.status === 101) return void this.#switch(client, bytes, from, to);
    if (head.status >= 200) return void this.#answer(client, bytes, from, to);
    if (client.passage.minor === 1) {
      const buffer = scratchFor(roomForAnswer(head, from));
      client.out.head(buffer, writeAnswerHead(head, bytes, false, buffer), head.status);
    }
    if (head.to < to) this.#readHead(client, bytes, head.to, to);
  }

  #answer(client: Caller, bytes: Buffer, from: number, to: number): void {
    this.#releaseRequest();
    if (head.framing === "chunked" && client.passage.minor === 0)
      return void this.fail("upstreamInvalid");
    startBody(this.#body, hasBody(head) ? head.framing : "none", head.length);
    // After a request of HTTP/1.0 the upstream closes, whatever it says.
    this.#canStay = head.canStay && this.#isSent && client.passage.minor === 1;
    this.#pool.learn(head.keepAliveSeconds);
    this.#phase = "body";
    const buffer = scratchFor(roomForAnswer(head, from) + (to - head.to));
    const headTo = writeAnswerHead(
      head,
      bytes,
      client.closes(head.framing !== "untilClose"),
      buffer,
    );
    const bodyTo = readBody(this.#body, bytes, head.to, to);
    const length = copy(bytes, head.to, bodyTo, buffer, headTo);
    client.out.head(buffer, length, head.status);
    this.#finish(client, bodyTo === to);
  }

  #readBody(client: Caller, bytes: Buffer, from: number, to: number): void {
    const bodyTo = readBody(this.#body, bytes, from, to);
    if (bodyTo > from) client.out.pass(bytes, from, bodyTo);
    this.#finish(client, bodyTo === to);
  }

  /** Ends the exchange if the body is whole; bytes after it belong to no request. */
  #finish(client: Caller, isAll: boolean): void {
    if (this.#body.isBad) return void this.fail("upstreamInvalid");
    if (!this.#body.isWhole) return;
    this.#client = undefined;
    if (this.#canStay && isAll) {
      this.#phase = "idle";
      this.resume();
      this.#pool.give(this, client.front.nowMs);
    } else this.close();
    client.answered();
  }

  #switch(client: Caller, bytes: Buffer, from: number, to: number): void {
    if (!client.passage.wantsWebSocket) return void this.fail("upstreamInvalid");
    this.#releaseRequest();
    this.#phase = "tunnel";
    const buffer = scratchFor(roomForAnswer(head, from));
    client.out.head(buffer, writeAnswerHead(head, bytes, false, buffer), head.status);
    const rest = head.to;
    client.openTunnel();
    if (rest < to) client.out.pass(bytes, rest, to);
  }

  /** The request cannot be sent again any more. */
  #releaseRequest(): void {
    if (this.#request !== undefined) release(this.#request);
    this.#request = undefined;
  }

  ended(): void {
    const client = this.#client;
    if (client === undefined) return void this.close();
    if (this.#phase === "tunnel") return void client.socket.end();
    if (this.#phase !== "body" || this.#body.framing !== "untilClose")
      return void this.#line.destroy();
    this.#client = undefined;
    this.close();
    client.answered();
  }

  closed(): void {
    if (this.#phase === "connecting") return void this.fail("upstreamRefused");
    const client = this.#client;
    const isUntouched = this.#phase === "head" && this.#intake.isEmpty;
    const isTunnel = this.#phase === "tunnel";
    this.#client = undefined;
    this.#phase = "closed";
    if (client === undefined) return;
    if (isTunnel) return void client.answered();
    const canRepeat = isUntouched && client.passage.isRepeatable;
    // A connection from the pool may have been closed before the request came there.
    if (canRepeat && this.#isReused) return void this.#pool.retry(client);
    if (canRepeat) return void client.unanswered("upstreamRefused", true);
    this.#releaseRequest();
    client.fail("upstreamRefused");
  }

  /** Gives the request up, for which another upstream may be tried if nothing of it was sent. */
  fail(refusal: Refusal): void {
    const client = this.#client;
    const isUnsent = this.#phase === "connecting";
    if (isUnsent) this.#request = undefined;
    this.abort();
    if (isUnsent) client?.unanswered(refusal, false);
    else client?.fail(refusal);
  }

  #leave(): void {
    this.#pool.settled(this);
    this.#releaseRequest();
    this.#phase = "closed";
  }
}
