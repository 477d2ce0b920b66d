import type { Socket } from "node:net";
import { clearHead } from "../head.ts";
import { type Refusal, refusals } from "../refusals.ts";
import type { RequestHead } from "../request-head.ts";
import { type Caller, type Exchange, type Front, lingerMs } from "./front.ts";
import { forwardedLines } from "./heads.ts";
import { Held } from "./held.ts";
import { fill, newOutgoing, release } from "./outgoing.ts";
import { Outlet } from "./output.ts";
import { beginPassage, newPassage, type Outcome, type Passage } from "./passage.ts";
import { Requests } from "./requests.ts";
import type { Address } from "./route.ts";
import { adopt, lead, type Peer, reset } from "./sockets.ts";
import { Way } from "./way.ts";

/** One client's connection, and the request that is on its way there; `Caller` says what is for engines. */
export class Client implements Caller, Peer {
  readonly front: Front;
  readonly socket: Socket;
  readonly passage: Passage;
  readonly out: Outlet;
  readonly request = newOutgoing();
  /** Whether something has moved since the last `look`. */
  #hasMoved = false;
  #deadlineMs: number;
  readonly #requests = new Requests(this);
  readonly #forwarded: Buffer;
  readonly #way: Way;
  #exchange: Exchange | undefined;

  constructor(front: Front, accepted: Socket) {
    this.front = front;
    this.passage = newPassage(addressOf(accepted));
    this.#forwarded = forwardedLines(this.passage.address, front.scheme);
    this.#way = new Way(front.choose, this.passage, (to) => this.#found(to));
    this.#deadlineMs = front.nowMs + front.limits.headMs;
    this.socket = front.scheme === "http" ? adopt(accepted, this) : lead(accepted, this);
    this.out = new Outlet(this.socket, this.passage, front.ownAnswerTo, () => this.#stall());
    front.clients.add(this);
  }

  read(bytes: Buffer, to: number): void {
    this.#requests.read(bytes, to);
  }

  get isBusy(): boolean {
    return this.#exchange !== undefined;
  }

  awaitBytes(ms: number): void {
    this.#hasMoved = false;
    this.#deadlineMs = this.front.nowMs + ms;
  }

  awaitNext(): void {
    // Said of every token of a stream: how long that is can wait for the next look.
    this.#hasMoved = true;
  }

  look(lastMs: number): void {
    if (this.#hasMoved) this.#deadlineMs = lastMs + this.#patienceMs;
    this.#hasMoved = false;
    if (this.#deadlineMs < this.front.nowMs) this.#expire();
  }

  get #patienceMs(): number {
    const { stalledMs, upstreamMs } = this.front.limits;
    if (this.#way.isOpen) return Number.POSITIVE_INFINITY;
    return this.#requests.isOwed ? stalledMs : upstreamMs;
  }

  forward(head: RequestHead, bytes: Buffer, bodyTo: number): void {
    const together = fill(this.request, head, bytes, bodyTo, this.#forwarded);
    this.passage.bytesIn = together;
    this.#begin(this.#way.find());
    if (this.#exchange === undefined) return;
    this.awaitNext();
    if (head.to + together < bodyTo) this.passOn(bytes, head.to, bodyTo);
    else this.#tellIfSent();
  }

  #begin(to: Address | Refusal | undefined): void {
    if (typeof to === "string") {
      release(this.request);
      this.fail(to);
    } else this.#exchange = to ? this.front.engine.begin(this, to) : new Held(this.request);
  }

  #found(to: Address | Refusal | undefined): void {
    this.#begin(to);
    if (this.#exchange === undefined) return;
    this.awaitNext();
    this.#tellIfSent();
  }

  unanswered(why: Refusal, wasConnected: boolean): void {
    this.#exchange = undefined;
    this.#way.turn(why, wasConnected);
    this.#found(this.#way.find());
  }

  leaveLost(): void {
    if (this.#way.isLost) this.#exchange?.lose();
  }

  passOn(bytes: Buffer, from: number, to: number): void {
    this.passage.bytesIn += to - from;
    const hasLeft = this.#exchange?.send(bytes, from, to);
    if (hasLeft === false) this.#requests.intake.pause(this.socket);
    this.awaitNext();
    this.#tellIfSent();
  }

  #tellIfSent(): void {
    if (this.#requests.phase === "answer") this.#exchange?.sent();
  }

  moveTo(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.sent();
  }

  resume(): void {
    this.#requests.intake.resume(this.socket);
  }

  /** The client does not read: what would be sent next is not asked for until it does. */
  #stall(): void {
    this.awaitBytes(this.front.limits.stalledMs);
    if (this.#exchange === undefined) this.#requests.intake.pause(this.socket);
    else this.#exchange.pause();
  }

  drained(): void {
    if (this.#exchange !== undefined) {
      this.awaitNext();
      this.#exchange.resume();
    } else if (this.#requests.phase === "answer") this.goOn();
    else this.resume();
  }

  closes(canFollow: boolean): boolean {
    const requests = this.#requests;
    requests.canFollow &&= canFollow && requests.phase === "answer" && !this.front.isDraining;
    return !requests.canFollow;
  }

  answered(): void {
    this.#exchange = undefined;
    this.#record("answered");
    const { canFollow, phase } = this.#requests;
    if (!canFollow || phase !== "answer") this.#linger();
    else this.goOn();
  }

  openTunnel(): void {
    this.#requests.goOn("tunnel");
  }

  fail(refusal: Refusal): void {
    this.#exchange = undefined;
    const isLeft = refusal === "upstreamRefused" && this.front.limits.breaksOff;
    // What came of an answer must not look like the whole.
    if (isLeft || this.passage.status !== 0) return void this.#close("cut");
    this.#requests.canFollow &&= this.#requests.phase === "answer";
    this.refuse(refusal);
    if (this.#requests.canFollow) this.goOn();
  }

  giveUp(refusal: Refusal): void {
    this.#abort();
    this.fail(refusal);
  }

  refuse(refusal: Refusal): void {
    const requests = this.#requests;
    requests.canFollow &&= refusals[refusal].canFollow && !this.front.isDraining;
    const { stalledMs, idleMs } = this.front.limits;
    this.awaitBytes(requests.phase === "discard" ? stalledMs : idleMs);
    this.out.refuse(refusal, requests.canFollow);
    this.#record(refusal);
    if (!requests.canFollow) this.#linger();
  }

  goOn(): void {
    if (this.front.isDraining) return void this.#linger();
    if (!this.out.isClear) return;
    this.awaitBytes(this.front.limits.idleMs);
    this.resume();
    this.#requests.goOn("head");
  }

  /** Ends our side and reads on for a while: closed with bytes unread, TCP would reset. */
  #linger(): void {
    this.#requests.end();
    this.awaitBytes(this.front.limits.stalledMs);
    this.socket.end(() => this.awaitBytes(lingerMs));
    this.resume();
  }

  ended(): void {
    if (this.#requests.phase === "tunnel") this.#exchange?.end();
    else if (this.#exchange !== undefined) this.#close("gone");
    else this.socket.destroySoon();
  }

  closed(): void {
    const isTunnel = this.#requests.phase === "tunnel";
    if (this.#exchange !== undefined) this.#close(isTunnel ? "answered" : "gone");
    this.#requests.end();
    this.front.clients.delete(this);
  }

  #close(outcome: Outcome): void {
    this.#abort();
    this.#requests.end();
    this.#record(outcome);
    reset(this.socket);
  }

  #abort(): void {
    this.#exchange?.abort();
    this.#exchange = undefined;
  }

  /** What was waited for did not come in time. */
  #expire(): void {
    const { isOwed, isPartial } = this.#requests;
    if (this.#exchange !== undefined) this.giveUp(isOwed ? "tooSlow" : "upstreamTimeout");
    else if (isPartial) {
      this.#requests.isPartial = false;
      beginPassage(this.passage, clearHead(this.front.head));
      this.refuse("tooSlow");
    } else this.socket.destroy();
  }

  drain(graceMs: number): void {
    const { phase, isPartial } = this.#requests;
    if ((phase !== "head" && phase !== "discard") || isPartial) return;
    if (graceMs === 0) this.#linger();
    else this.awaitBytes(graceMs);
  }

  #record(outcome: Outcome): void {
    this.passage.outcome = outcome;
    this.#way.end(outcome);
    this.front.observer.ended(this.passage);
  }
}

/** The client's address; one of IPv4 as such, also where both kinds are listened to. */
const addressOf = ({ remoteAddress = "" }: Socket): string =>
  remoteAddress.replace(/^::ffff:(?=\d+\.)/, "");
