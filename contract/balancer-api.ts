import * as z from "zod";
import { innerOperations } from "../common/operation.ts";
import { loadBalancingPolicies } from "./task/service.ts";

/**
 * What control and the balancer of a service promise each other: HTTP with JSON over the balancer's
 * Unix socket. Control says which replicas there are and what a good answer to a probe is; the
 * balancer asks them, routes to those that are ready, and tells what it sees. It needs control for
 * neither, so requests are served while control is away.
 */

const Millis = z.int().min(0);

/** How a replica is asked whether it is ready. The headers may hold a key: never logged. */
export const ProbePlan = z.object({
  method: z.enum(["GET", "HEAD", "POST", "PUT"]),
  scheme: z.enum(["http", "https"]),
  path: z.string().startsWith("/"),
  headers: z.record(z.string(), z.string()),
  /** JSON text, or nothing. */
  body: z.string().nullable(),
  timeoutMs: Millis,
  intervalMs: Millis,
  /** So many good answers in a row make a replica ready, so many bad ones make it not ready. */
  successThreshold: z.int().min(1),
  failureThreshold: z.int().min(1),
  /** Ranges of statuses that are good answers. */
  expectedStatus: z.array(z.tuple([z.int(), z.int()])).min(1),
});
export type ProbePlan = z.output<typeof ProbePlan>;

/** What a replica is there for: a standby is asked but gets no request, a draining one none any more. */
export const replicaRoles = ["serving", "standby", "draining"] as const;

export const PlannedReplica = z.object({
  /** Its number in the service. */
  id: z.int().positive(),
  /** Of several versions of a service each has its own way to be asked. */
  version: z.int().positive(),
  host: z.string().min(1),
  port: z.int().min(1).max(65_535),
  role: z.enum(replicaRoles),
  /** Requests a second that it takes, to weigh it against others; 1 where that is not said. */
  capacity: z.number().positive(),
});
export type PlannedReplica = z.output<typeof PlannedReplica>;

/**
 * All that the balancer is to do. A plan takes the place of the one before. A replica is its number: what
 * is known of it stays while plans name it, wherever it is reached, and what is open there goes on. One
 * that a plan names no more is gone, and nobody waits for what is open there.
 */
export const BalancerPlan = z.object({
  /** Grows with each plan; one that was overtaken changes nothing. */
  revision: z.int().min(0),
  policy: z.enum(loadBalancingPolicies),
  /** By version. */
  probes: z.record(z.string(), ProbePlan),
  replicas: z.array(PlannedReplica),
  /**
   * What clients are met with, as PEM texts; null is plain HTTP. Over this socket, as a key belongs in
   * no file; the balancer listens once its first plan is there.
   */
  tls: z.object({ key: z.string(), cert: z.string() }).nullable(),
  /** While no replica is ready so many requests wait, for so long. */
  hold: z.object({ requests: z.int().min(0), ms: Millis }),
});
export type BalancerPlan = z.output<typeof BalancerPlan>;

export const readinesses = ["unknown", "ready", "not_ready"] as const;

/** What the balancer sees of one replica. */
export const SeenReplica = z.object({
  id: z.int().positive(),
  /** Unknown until the first good answers: it may still be starting. */
  readiness: z.enum(readinesses),
  /** Since when it is what it is. */
  since: Millis,
  /** The first of the bad answers in a row that are the latest; null after a good one. */
  failingSince: Millis.nullable(),
  /** Why the latest answer was bad, without anything of its text: `503`, `refused`; null if good. */
  problem: z.string().nullable(),
  /** Requests under way. */
  open: z.int().min(0),
});
export type SeenReplica = z.output<typeof SeenReplica>;

/** How many seconds of arrivals a report has. */
export const arrivalSeconds = 60;

export const BalancerReport = z.object({
  /** Of the plan that it follows; null before the first. */
  revision: z.int().nullable(),
  replicas: z.array(SeenReplica),
  /** Requests that arrived in each of the last whole seconds, the newest last. */
  arrivals: z.array(z.int().min(0)).max(arrivalSeconds),
  /** Requests that wait for a replica to be ready. */
  held: z.int().min(0),
  /** Requests under way, the held ones included. */
  open: z.int().min(0),
  at: Millis,
});
export type BalancerReport = z.output<typeof BalancerReport>;

export const BalancerHealth = z.object({
  build: z.string(),
  pid: z.int().positive(),
  listen: z.object({ host: z.string(), port: z.int() }),
  revision: z.int().nullable(),
});
export type BalancerHealth = z.output<typeof BalancerHealth>;

/**
 * What becomes of the socket of a balancer that only finishes what is open: nobody reaches it there any more,
 * but its name says who it is, as long as it lives.
 */
export const leftSocketOf = (
  socket: string,
  { pid, startTicks }: Record<"pid" | "startTicks", number>,
): string => socket.replace(/sock$/, `${pid}-${startTicks}.left`);

/** What the log of a balancer was before it was begun anew, as it was full. */
export const earlierLogOf = (file: string): string => `${file}.1`;

/** The balancer's API, a row an operation. */
export const balancerOperations = innerOperations({
  health: {
    route: "GET /health",
    summary: "Identify the balancer and its address.",
    output: BalancerHealth,
  },
  plan: {
    route: "PUT /plan",
    summary: "Follow a plan; one that is older than the present one changes nothing.",
    input: { body: BalancerPlan },
    output: BalancerHealth,
  },
  reports: {
    route: "GET /reports",
    mode: "stream",
    summary:
      "Stream reports, one JSON object per line: immediately, on each change of a replica, every second while there are requests, and at least every five seconds.",
    output: z.unknown(),
  },
  replace: {
    route: "POST /replace",
    summary:
      "Start the balancer that will take the place of this one; it inherits the sockets that listen, so no connection is lost when this one ends.",
    input: {
      body: z.object({
        command: z.array(z.string()).min(1).readonly(),
        cwd: z.string(),
        env: z.record(z.string(), z.string().optional()),
        /** File for what it prints. */
        log: z.string(),
      }),
    },
    output: z.object({ pid: z.int().positive() }),
  },
  end: {
    route: "POST /end",
    summary: "Accept no new connection, finish open requests within the limit, and exit.",
    input: { body: z.object({ drainMs: Millis }) },
    output: z.null(),
  },
});
