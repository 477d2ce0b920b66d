import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Duplex, Readable } from "node:stream";
import type { BalancerPlan, BalancerReport } from "../../../contract/balancer-api.ts";
import { type Balancer, openBalancer } from "../../../control/balancer/balancer.ts";
import { readConfig } from "../../../control/balancer/config.ts";
import { Entrance } from "../../../control/balancer/listener.ts";
import { bindOperations } from "../../../control/balancer/operations.ts";
import type { ForwardLimits } from "../../../sidecar/forward/front.ts";
import type { TlsPair } from "../../../sidecar/forward/listen.ts";
import type { Passage } from "../../../sidecar/forward/passage.ts";
import type { Choose } from "../../../sidecar/forward/route.ts";
import { openSplice } from "../../../sidecar/forward/splice.ts";
import { dial, type Wire } from "../../sidecar/raw.ts";

interface Cleaner {
  after(clean: () => void | Promise<void>): void;
}

export type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/** A server that a plan names as a replica. */
export interface Server1 {
  readonly id: number;
  port: number;
  /** What its probe is answered; 0 breaks it off. */
  status: number;
  /** Paths of the requests that came, but for probes. */
  readonly asked: string[];
  readonly probes: { method: string; headers: IncomingMessage["headers"]; body: string }[];
  answer: Answer;
  readonly server: Server;
  /** Waits until so many requests have come. */
  until(requests: number): Promise<void>;
  /** Nothing listens there any more, and what was open is cut. */
  die(): Promise<void>;
  /** Listens on the same port again. */
  rise(): Promise<void>;
}

export const probePath = "/health";

/** Answers each request with its own number. */
const answerOwnId =
  (id: number): Answer =>
  (req, res) => {
    req.resume().once("end", () => res.end(String(id)));
  };

/** Starts a server on a free port, which speaks TLS with a certificate; it ends with the test. */
export async function aServer(t: Cleaner, id: number, tls?: TlsPair): Promise<Server1> {
  let wake = () => {};
  const server = (tls === undefined ? createServer() : createSecureServer(tls)).on(
    "request",
    async (req: IncomingMessage, res: ServerResponse) => {
      if (req.url !== probePath) {
        one.asked.push(req.url ?? "");
        one.answer(req, res);
        return wake();
      }
      const pieces: Buffer[] = [];
      for await (const piece of req) pieces.push(piece);
      const body = Buffer.concat(pieces).toString();
      one.probes.push({ method: req.method ?? "", headers: req.headers, body });
      if (one.status === 0) return void req.socket.destroy();
      res.writeHead(one.status).end("probed");
    },
  );
  const one: Server1 = {
    id,
    port: 0,
    status: 200,
    asked: [],
    probes: [],
    answer: answerOwnId(id),
    server,
    async until(requests) {
      while (one.asked.length < requests)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
    async die() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
    async rise() {
      server.listen(one.port, "127.0.0.1");
      await once(server, "listening");
    },
  };
  await one.rise();
  one.port = (server.address() as AddressInfo).port;
  t.after(() => {
    server.close().closeAllConnections();
  });
  return one;
}

/** Starts servers with the numbers 1 to `count`. */
export const servers = (t: Cleaner, count: number): Promise<Server1[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => aServer(t, index + 1)));

export type Probe = BalancerPlan["probes"][string];

/** A probe that asks often; the rest has defaults. */
export const aProbe = (more: Partial<Probe> = {}): Probe => ({
  method: "GET",
  scheme: "http",
  path: probePath,
  headers: {},
  body: null,
  timeoutMs: 10_000,
  intervalMs: 20,
  successThreshold: 1,
  failureThreshold: 1,
  expectedStatus: [[200, 299]],
  ...more,
});

type Planned = BalancerPlan["replicas"][number];
type Named = Pick<Planned, "id" | "port"> & Partial<Planned>;

/** A plan with these replicas; the rest has defaults. */
export const aPlan = (replicas: readonly Named[], more: Partial<BalancerPlan> = {}) =>
  ({
    revision: 0,
    policy: "round_robin",
    probes: { 1: aProbe() },
    replicas: replicas.map(({ id, port, ...rest }) => ({
      ...{ id, port, version: 1, host: "127.0.0.1", role: "serving", capacity: 1 },
      ...rest,
    })),
    tls: null,
    hold: { requests: 0, ms: 0 },
    ...more,
  }) satisfies BalancerPlan;

/** A balancer of this process. */
export interface Bed {
  /** What was asked a way for, as it is now. */
  readonly asking: readonly Passage[];
  readonly balancer: Balancer;
  readonly entrance: Entrance;
  readonly passages: Passage[];
  /** Follows a plan with these replicas. */
  plan(replicas: readonly Named[], more?: Partial<BalancerPlan>): Promise<void>;
  /** The next report that is so; reports come with every change. */
  report(isSo: (report: BalancerReport) => boolean): Promise<BalancerReport>;
  /** Waits until these are ready, and no others. */
  ready(...ids: number[]): Promise<void>;
  dial(): Wire;
  /** Status and body of an answer to a GET on a connection of its own. */
  get(path?: string): Promise<string>;
}

/** Opens a balancer; everything ends with the test. */
export async function aBalancer(
  t: Cleaner,
  more: Partial<ForwardLimits> = {},
  now = Date.now,
): Promise<Bed> {
  const { limits } = readConfig({ OUTRIGGER_SOCKET: "unused" });
  const balancer = openBalancer(now, now);
  const passages: Passage[] = [];
  const observer = {
    wantsPath: true,
    ended: (passage: Passage) => void passages.push({ ...passage }),
  };
  const asking: Passage[] = [];
  const choose: Choose = (request, ...rest) => {
    asking.push(request);
    return balancer.choose(request, ...rest);
  };
  const parts = { choose, observer, authorize: () => "", engine: openSplice() };
  const own = { host: "127.0.0.1", port: 0 };
  const entrance = new Entrance({ ...parts, limits: { ...limits, ...more } }, own, 0);
  t.after(async () => {
    balancer.stop();
    await entrance.close(0);
  });
  const { bound } = bindOperations(balancer, entrance, "test");
  const exchange = { body: Readable.from([]), signal: new AbortController().signal };
  let revision = 0;
  const bed: Bed = {
    balancer,
    entrance,
    passages,
    asking,
    async plan(replicas, rest = {}) {
      revision += 1;
      await bound.plan(aPlan(replicas, { revision, ...rest }), exchange);
    },
    async report(isSo) {
      const over = new AbortController();
      for await (const report of balancer.reports(over.signal)) if (isSo(report)) return report;
      throw new Error("there are no more reports");
    },
    async ready(...ids) {
      await bed.report(({ replicas }) => {
        const found = replicas.filter(({ readiness }) => readiness === "ready");
        return String(found.map(({ id }) => id)) === String(ids);
      });
    },
    dial: () => dial(t, entrance.place.port),
    async get(path = "/") {
      const wire = bed.dial();
      wire.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      return wire.end();
    },
  };
  return bed;
}

/** Resolves once a stream is over, whatever its end. */
export const over = (stream: Duplex | IncomingMessage): Promise<void> =>
  new Promise((resolve) => void stream.once("close", resolve));
