import type { AddressInfo, Server, Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate as afterPolling, setTimeout as sleep } from "node:timers/promises";
import { newRequestHead } from "../head.ts";
import { ownAnswerTo } from "./answers.ts";
import { Client } from "./client.ts";
import type { Authorize, Engine, ForwardLimits, Front, Observer } from "./front.ts";
import { acceptPlain, acceptTls, listenOn, type Place, type TlsPair } from "./listen.ts";
import type { Choose } from "./route.ts";

/** What a front is made of. */
export interface FrontParts {
  readonly limits: ForwardLimits;
  readonly authorize: Authorize;
  readonly choose: Choose;
  readonly observer: Observer;
  readonly engine: Engine;
}

/** A server that forwards what is authorized. */
export interface Serving {
  readonly address: AddressInfo;
  /** Requests and tunnels that are on their way now. */
  readonly clients: ReadonlySet<Client>;
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

const lookEveryMs = 10;
/** How late a time-out may be, at most. */
const sweepMs = 200;

/** Listens, with a certificate for HTTPS, and forwards each authorized request through the engine. */
export async function serve(parts: FrontParts, place: Place, tls?: TlsPair): Promise<Serving> {
  const front: Front = {
    ...parts,
    scheme: tls === undefined ? "http" : "https",
    clients: new Set(),
    head: newRequestHead(parts.limits),
    nowMs: performance.now(),
    isDraining: false,
  };
  const meet = (accepted: Socket) => take(front, accepted);
  const secure = tls && acceptTls(tls, parts.limits.headMs, meet);
  const server = secure ?? acceptPlain(meet);
  const address = await listenOn(server, place);
  const sweeping = setInterval(() => sweep(front), sweepEveryMs(parts.limits)).unref();
  return {
    address,
    clients: front.clients,
    get isDraining() {
      return front.isDraining;
    },
    gauges: () => ({ connections: front.clients.size, open_requests: busyIn(front) }),
    leaveLost() {
      for (const client of front.clients) client.leaveLost();
    },
    renew: (pair) => secure?.setSecureContext(pair),
    stopListening: () => stopListening(server),
    async drain(deadlineMs, graceMs = 0) {
      const cut = await drain(front, server, deadlineMs, graceMs);
      clearInterval(sweeping);
      front.engine.close();
      return cut;
    },
  };
}

function take(front: Front, accepted: Socket): void {
  if (front.clients.size < front.limits.connections) new Client(front, accepted);
  else sendAway(accepted);
}

/** What the client sent already is read: closed with bytes unread, TCP would reset. */
function sendAway(accepted: Socket): void {
  const answer = ownAnswerTo("tooManyConnections", "GET", false);
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
 * Closed with connections that nobody has accepted yet, the system would reset them. The first turn may
 * be of this moment's events, the second one looks for others.
 */
async function stopListening(server: Server): Promise<void> {
  await afterPolling();
  await afterPolling();
  server.close();
}

async function drain(
  front: Front,
  server: Server,
  deadlineMs: number,
  graceMs: number,
): Promise<number> {
  front.isDraining = true;
  await stopListening(server);
  for (const client of front.clients) client.drain(graceMs);
  const untilMs = performance.now() + deadlineMs;
  while (front.clients.size > 0 && performance.now() < untilMs) await sleep(lookEveryMs);
  const cut = busyIn(front);
  for (const client of front.clients) client.socket.destroy();
  return cut;
}
