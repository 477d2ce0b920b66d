import type { Socket } from "node:net";
import type { Refusal } from "../refusals.ts";
import type { HeadRules, RequestHead } from "../request-head.ts";
import type { OwnAnswerTo } from "./answers.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Outlet } from "./output.ts";
import type { Passage } from "./passage.ts";
import type { Address, Choose } from "./route.ts";

/** How long is waited for what, in milliseconds, and how much is taken. */
export interface ForwardLimits extends HeadRules {
  /** Whether who gets no answer is told by the connection's end: it may be asked for elsewhere. */
  readonly breaksOff: boolean;
  /** Connections at once; further ones are answered 503. */
  readonly connections: number;
  /** For a whole head, from its first byte; for the first one, from the connection. */
  readonly headMs: number;
  /** Time limit for the next request on an idle connection. */
  readonly idleMs: number;
  /** For a client that sends none of its body, or reads none of its answer. */
  readonly stalledMs: number;
  readonly connectMs: number;
  /** For the upstream's next bytes. */
  readonly upstreamMs: number;
}

/** How long who was refused may go on sending: a reset would take the answer from him. */
export const lingerMs = 2_000;

/** Who may be forwarded: the name under which logs and metrics know the caller, never its key. */
export type Authorize = (head: RequestHead, bytes: Buffer) => string | undefined;

/** Is told of each request when it ends. It must not keep the passage: that is used again. */
export interface Observer {
  readonly wantsPath: boolean;
  ended(passage: Passage): void;
}

/** A request at an engine, on its way to the upstream. */
export interface Exchange {
  /** Sends bytes of the body; false when the client should wait for `resume`. */
  send(bytes: Buffer, from: number, to: number): boolean;
  /** The request is whole. */
  sent(): void;
  /** The client does not read, or reads again. */
  pause(): void;
  resume(): void;
  /** The client sends no more into its tunnel. */
  end(): void;
  /** Nobody waits for the answer any more. */
  abort(): void;
  /** Nothing is where it goes any more, and nothing will come from there. */
  lose(): void;
}

/** Carries requests whose heads were checked to an upstream, and answers back to `client`. */
export interface Engine {
  /** Begins with what is in `client.request`. */
  begin(client: Caller, to: Address): Exchange;
  /** Looks after what has waited too long; called a few times a second. */
  sweep(nowMs: number): void;
  close(): void;
}

/** What the connections of one sidecar share. */
export interface Front {
  readonly limits: ForwardLimits;
  /** What clients speak; bytes of `https` come and go as they are within TLS. */
  readonly scheme: "http" | "https";
  readonly authorize: Authorize;
  readonly choose: Choose;
  readonly ownAnswerTo: OwnAnswerTo;
  readonly observer: Observer;
  readonly engine: Engine;
  readonly clients: Set<Caller>;
  /** Holds the head that is being looked at. */
  readonly head: RequestHead;
  /** A clock for time-outs, a few ticks a second. */
  nowMs: number;
  isDraining: boolean;
  /** How many connections came so far. */
  accepted: number;
}

/** Who sent a request, as engines know it: a client's connection. */
export interface Caller {
  readonly front: Front;
  readonly socket: Socket;
  readonly passage: Passage;
  readonly out: Outlet;
  readonly request: Outgoing;
  /** Whether a request is under way. */
  readonly isBusy: boolean;
  /** Waits so long for what is next. */
  awaitBytes(ms: number): void;
  /** Waits for the client while it has to send, and else for the upstream. */
  awaitNext(): void;
  /** Ends what has waited too long; `lastMs` was when it was looked at last. */
  look(lastMs: number): void;
  /** Sends a request whose head was checked to the upstream, and its body up to `bodyTo`. */
  forward(head: RequestHead, bytes: Buffer, bodyTo: number): void;
  /** No answer began, and the request may go another way. */
  unanswered(why: Refusal, wasConnected: boolean): void;
  /** Passes bytes of the body, or of the tunnel, on to the upstream. */
  passOn(bytes: Buffer, from: number, to: number): void;
  /** The request goes to the upstream another way. */
  moveTo(exchange: Exchange): void;
  /** The upstream takes more of the body. */
  resume(): void;
  /** Whether the answer that is about to be sent must be the last on this connection. */
  closes(canFollow: boolean): boolean;
  /** The answer is whole. */
  answered(): void;
  /** From now on bytes go both ways as they are. */
  openTunnel(): void;
  /** There will be no answer, or no more of it. */
  fail(refusal: Refusal): void;
  /** Ends the request under way for a reason of ours. */
  giveUp(refusal: Refusal): void;
  /** Answers the request ourselves. */
  refuse(refusal: Refusal): void;
  /** Takes the next request, once what was answered has left: till then the client is not read. */
  goOn(): void;
  /** Takes no further request, but for one that begins soon. */
  drain(graceMs: number): void;
  /** Ends what is under way where nothing is any more, unless it may go another way. */
  leaveLost(): void;
}
