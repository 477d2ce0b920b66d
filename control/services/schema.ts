import { fail } from "../../common/errors.ts";
import type { BalancerPlan, BalancerReport } from "../../contract/balancer-api.ts";
import type { UpdateMode } from "../../contract/records/services.ts";
import type { ReplicaStatus, ServiceStatus } from "../../contract/statuses.ts";
import type { Failure, User } from "../requests/schema.ts";

/** What the autoscaler keeps from one decision to the next. Instants are epoch milliseconds. */
export interface Scaling {
  /** How many replicas there should be that take requests. */
  readonly target: number;
  /** Why it is what it is, for people. */
  readonly reason: string;
  /** Since when more or fewer were needed without a break; null while neither. */
  readonly pressure: { readonly to: "up" | "down"; readonly since: number } | null;
}

/** An endpoint that is kept alive: a balancer, and a cluster behind each replica; or a pool of workers. */
export interface Service {
  id: string;
  name: string;
  /** Its replicas are workers that managed jobs run on; it has no balancer. */
  isPool: boolean;
  status: ServiceStatus;
  /** Why it has that status, for people. */
  reason: string;
  wanted: "UP" | "GONE";
  wantedBecause: string;
  user: User;
  workspace: string;
  /** Where its balancer listens; empty and 0 of a pool. */
  host: string;
  port: number;
  /** The newest one. */
  version: number;
  scaling: Scaling;
  /** Why the balancer cannot be kept running, or something cannot be removed. */
  problem: Failure | null;
  /** Since when it is ready; null while it is not. */
  readyAt: number | null;
  createdAt: number;
  statusChangedAt: number;
}

/** What a service runs, or ran, without its task. */
export interface Version {
  serviceId: string;
  version: number;
  command: string;
  mode: UpdateMode;
  because: string;
  createdAt: number;
  /** When a replica of it was ready first. */
  readyAt: number | null;
  /** Why it was given up for the version before; null while it was not. */
  givenUp: string | null;
}

/** The task of a version, as it is sealed. */
export interface VersionTask {
  /** The document, secrets included. */
  readonly yaml: string;
  readonly blobId: string | null;
  /** What clients are met with, as PEM texts; null is plain HTTP. */
  readonly tls: { readonly key: string; readonly cert: string } | null;
  /** Of a pool that was resized: how many workers instead of what the document says. */
  readonly workers?: number;
}

/** One replica of a service, with a cluster of its own. */
export interface Replica {
  /** Unique for ever; the submission id of its job. */
  id: string;
  serviceId: string;
  /** Its number in the service, never used again. */
  number: number;
  version: number;
  status: ReplicaStatus;
  /** Why it has that status, for people; of a failed one with the last lines of its log. */
  reason: string;
  wanted: "UP" | "GONE";
  wantedBecause: string;
  isSpot: boolean;
  /** Those of its machine; null for none, and until there is one. */
  accelerators: { readonly name: string; readonly count: number } | null;
  /** Null until its cluster is made. */
  clusterId: string | null;
  clusterName: string;
  /** It failed as nothing offered a machine for it. */
  isUnplaced: boolean;
  /** Null until its task was submitted. */
  jobId: number | null;
  /** What its server must listen on: `$PORT`. */
  serverPort: number | null;
  /** Where requests come on its node: at the server, or at the sidecar before it. */
  listenPort: number | null;
  /** Where the balancer reaches that; null until its run began. */
  host: string | null;
  port: number | null;
  /** When its `run` began. */
  runAt: number | null;
  /** When it was ready first. */
  readyAt: number | null;
  /** Until when what is under way may take, once it is on its way out. */
  drainUntil: number | null;
  createdAt: number;
  statusChangedAt: number;
  /** When it failed, was lost or went; its cluster may still be on its way out. */
  endedAt: number | null;
}

/** How long what is under way at a replica may take once the replica is on its way out. */
export const drainMs = 120_000;

/** Whether a replica may still have requests: one that goes, or failed, while it is drained. */
export const isOpen = ({
  wanted,
  endedAt,
  drainUntil,
}: Pick<Replica, "wanted" | "endedAt" | "drainUntil">): boolean =>
  (wanted === "UP" && endedAt === null) || drainUntil !== null;

/** What a step makes of a replica. */
export interface Outcome {
  readonly to: ReplicaStatus;
  readonly reason: string;
  readonly change?: Partial<Replica>;
}

/** What people call a service, and its replicas. */
export const wordsOf = ({ isPool }: Pick<Service, "isPool">) =>
  isPool
    ? ({ noun: "pool", member: "worker" } as const)
    : ({ noun: "service", member: "replica" } as const);

/** Throws `ConflictError` for a service or a pool that is being taken down. */
export function refuseLeaving(service: Service): void {
  const { name, wanted, wantedBecause } = service;
  if (wanted !== "GONE") return;
  fail("ConflictError", `${wordsOf(service).noun} ${name} is being taken down (${wantedBecause})`);
}

/** The key that wakes those who wait for a service. */
export const serviceKey = (id: string): string => `service:${id}`;

/** What the balancer of a service last told, and when it was heard; undefined before that. */
export type Seen = BalancerReport | undefined;

/** Where the balancer of a service listens: `host:port`. */
export const placeOf = ({ host, port }: Pick<Service, "host" | "port">): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

/** The name of a replica's cluster. */
export const replicaName = ({ name }: Pick<Service, "name">, number: number): string =>
  `${name}-${number}`;

/** A plan, which gets its revision as it is told. */
export type Plan = Omit<BalancerPlan, "revision">;

/** The balancers of services: processes of their own, which outlive control. */
export interface Balancers {
  /** Has the balancer of a service run: adopted, started, or put in the place of an older build. */
  keep(service: Service, signal: AbortSignal): Promise<void>;
  /** As `keep`, but starts none, as a service that goes down needs none. Answers whether one is there. */
  adopt(service: Service, signal: AbortSignal): Promise<boolean>;
  /** Tells a balancer that is kept what to do, unless it knows. */
  plan(service: Service, plan: Plan, signal: AbortSignal): Promise<void>;
  /**
   * The plan that all requests go by; undefined before it was told, and while one in whose place this
   * one is still finishes what it has.
   */
  told(serviceId: string): BalancerPlan | undefined;
  /** What a balancer last told; undefined before. */
  seen(serviceId: string): BalancerReport | undefined;
  /**
   * When this control plane first looked for any, its machine last slept or its clock was last set: before
   * that, control was away, or nobody knows how long ago it was.
   */
  backAt(): number | undefined;
  /** Has whatever balances a service finish what is open for so long and end; it may be gone already. */
  end(service: Service, drainMs: number, signal: AbortSignal): Promise<void>;
  /** Listens to none any more; they go on. */
  stop(): Promise<void>;
}
