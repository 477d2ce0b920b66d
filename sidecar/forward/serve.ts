import type { AddressInfo, Server, Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate as afterPolling, setTimeout as sleep } from "node:timers/promises";
import { newRequestHead } from "../head.ts";
import { type ErrorStyle, ownAnswersIn } from "./answers.ts";
import { Client } from "./client.ts";
import type { Authorize, Caller, Engine, ForwardLimits, Front, Observer } from "./front.ts";
import {
  acceptPlain,
  acceptTls,
  listenTogether,
  type Place,
  socketOf,
  type TlsPair,
} from "./listen.ts";
import type { Choose } from "./route.ts";

/** What a front is made of. */
export interface FrontParts {
  readonly limits: ForwardLimits;
  readonly authorize: Authorize;
  readonly choose: Choose;
  readonly observer: Observer;
  readonly engine: Engine;
  /** How what is refused is answered; `plain` when absent. */
  readonly errorStyle?: ErrorStyle;
}

/** A server that forwards what is authorized. */
export interface Serving {
  readonly address: AddressInfo;
  /** File descriptors of the sockets that listen. */
  sockets(): number[];
  /** Requests and tunnels that are on their way now. */
  readonly clients: ReadonlySet<Caller>;
  readonly isDraining: boolean;
  /** How much there is now. */
  gauges(): { connections: number; open_requests: number };
  /** Waits no longer for what is under way on routes that are lost. */
  leaveLost(): void;
  /** Meets the clients to come with another certificate. Throws when it is none. */
  renew(tls: TlsPair): void;
  /** Takes no new connection, but for those that were made already; others go on. */
  stopListening(): Promise<void>;
  /**
   * Takes no new connection or request, waits until all is answered, and cuts at the deadline what is
   * not. Answers how many requests were cut. Connections at rest may ask once more for `graceMs`: to
   * one that is closed, a request may be on its way already.
   */
  drain(deadlineMs: number, graceMs?: number): Promise<number>;
}

/** With 16 the last of a crowd waits a tenth as long as with one. */
const listenersAtOnce = 16;
const turnsAtMost = 1_000;
const lookEveryMs = 10;
/** How late a time-out may be, at most. */
const sweepMs = 200;

/** Listens, with a certificate for HTTPS, and forwards each authorized request through the engine. */
export async function serve(parts: FrontParts, place: Place, tls?: TlsPair): Promise<Serving> {
  const front: Front = {
    ...parts,
    ownAnswerTo: ownAnswersIn(parts.errorStyle ?? "plain"),
    scheme: tls === undefined ? "http" : "https",
    clients: new Set(),
    head: newRequestHead(parts.limits),
    nowMs: performance.now(),
    accepted: 0,
    isDraining: false,
  };
  const meet = (accepted: Socket) => take(front, accepted);
  const secure = tls && acceptTls(tls, parts.limits.headMs, meet);
  // One for TLS: sessions are resumed only at the server that they began with.
  const count = secure === undefined ? (place.listeners ?? listenersAtOnce) : 1;
  const others = Array.from({ length: count - 1 }, () => acceptPlain(meet));
  const { address, listening } = await listenTogether(
    [secure ?? acceptPlain(meet), ...others],
    place,
  );
  const sweeping = setInterval(() => sweep(front), sweepEveryMs(parts.limits)).unref();
  return {
    address,
    sockets: () => listening.flatMap(socketOf),
    clients: front.clients,
    get isDraining() {
      return front.isDraining;
    },
    gauges: () => ({ connections: front.clients.size, open_requests: busyIn(front) }),
    leaveLost() {
      for (const client of front.clients) client.leaveLost();
    },
    renew: (pair) => secure?.setSecureContext(pair),
    stopListening: () => stopListening(front, listening),
    async drain(deadlineMs, graceMs = 0) {
      const cut = await drain(front, listening, deadlineMs, graceMs);
      clearInterval(sweeping);
      front.engine.close();
      return cut;
    },
  };
}

function take(front: Front, accepted: Socket): void {
  front.accepted += 1;
  if (front.clients.size < front.limits.connections) new Client(front, accepted);
  else sendAway(front, accepted);
}

/** What the client sent already is read: closed with bytes unread, TCP would reset. */
function sendAway(front: Front, accepted: Socket): void {
  const answer = front.ownAnswerTo("tooManyConnections", "GET", false);
  // Who is gone already is no error.
  accepted.on("error", () => {});
  accepted.resume().end(answer, () => accepted.destroy());
}

const sweepEveryMs = ({ headMs, idleMs, stalledMs, connectMs, upstreamMs }: ForwardLimits) =>
  Math.min(sweepMs, headMs / 2, idleMs / 2, stalledMs / 2, connectMs / 2, upstreamMs / 2);

function sweep(front: Front): void {
  const lastMs = front.nowMs;
  front.nowMs = performance.now();
  for (const client of front.clients) client.look(lastMs);
  front.engine.sweep(front.nowMs);
}

const busyIn = ({ clients }: Front): number => [...clients].filter(({ isBusy }) => isBusy).length;

/**
 * Closed with connections that nobody has accepted yet, the system would reset them. So it waits for a turn
 * that brought none; the first one may be of this moment's events. Clients that never cease to come are not waited for.
 */
async function stopListening(front: Front, servers: readonly Server[]): Promise<void> {
  await afterPolling();
  for (let turn = 0, before = -1; turn < turnsAtMost && before !== front.accepted; turn++) {
    before = front.accepted;
    await afterPolling();
  }
  for (const server of servers) server.close();
}

async function drain(
  front: Front,
  servers: readonly Server[],
  deadlineMs: number,
  graceMs: number,
): Promise<number> {
  front.isDraining = true;
  await stopListening(front, servers);
  for (const client of front.clients) client.drain(graceMs);
  const untilMs = performance.now() + deadlineMs;
  while (front.clients.size > 0 && performance.now() < untilMs) await sleep(lookEveryMs);
  const cut = busyIn(front);
  for (const client of front.clients) client.socket.destroy();
  return cut;
}
