import type { Job } from "../../../contract/agent-shapes.ts";
import { jobMachine, type ReplicaStatus } from "../../../contract/statuses.ts";
import { findManagedJob, lossOf, noticeOf } from "../../clusters/managed.ts";
import type { Cluster } from "../../clusters/schema.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import { nudge } from "../../reconciler.ts";
import { drainMs, type Outcome, type Replica } from "../schema.ts";
import { lastWords, withWords } from "./last-output.ts";
import { setReplica } from "./store.ts";
import { noteStray } from "./stray-ports.ts";

const taken = /EADDRINUSE|address already in use/i;

/**
 * What became of a replica that runs: undefined while it does, and while nobody can see it, as that
 * says nothing about it. Notes when its run began and where it is reached.
 */
export async function findOutcome(
  ctx: Context,
  replica: Replica,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const cluster = await findCluster(ctx.db, replica.clusterId ?? "");
  if (cluster === undefined) return { to: "PREEMPTED", reason: "its cluster is gone" };
  const loss = await lossOf(ctx, cluster, signal);
  if (loss !== undefined) return { to: "PREEMPTED", reason: loss };
  const job = await findJob(ctx, cluster, replica, signal);
  if (job === "unknown") return { to: "PREEMPTED", reason: "its machine was replaced" };
  if (job && jobMachine.isFinal(job.status)) return ended(ctx, cluster, replica, job, signal);
  const notice = await noticeOf(ctx, cluster);
  // It answers requests until its cluster goes.
  const change = { drainUntil: ctx.now().getTime() + drainMs };
  if (notice !== undefined) return { to: "PREEMPTED", reason: notice, change };
  if (job?.status !== "RUNNING") return undefined;
  await noteRun(ctx, cluster, replica, signal);
  await noteStray(ctx, cluster, replica, signal);
}

/** Its job, as `findManagedJob` tells of it. */
export const findJob = (
  ctx: Context,
  cluster: Cluster,
  { id, jobId }: Replica,
  signal: AbortSignal,
) => findManagedJob(ctx, cluster, { submissionId: id, jobId }, signal);

async function ended(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  { status, reason, exitCode }: Job,
  signal: AbortSignal,
): Promise<Outcome> {
  const notice = await noticeOf(ctx, cluster);
  if (notice !== undefined) return { to: "PREEMPTED", reason: notice };
  const words = await lastWords(ctx, cluster, replica, signal);
  const isClean = status === "SUCCEEDED";
  const how = isClean ? `its run ended with ${exitCode ?? 0}` : (reason ?? status);
  const to = isClean ? endedCleanly(replica) : "FAILED";
  return { to, reason: withWords(`${how}${portHint(replica, words)}`, words) };
}

/** A run that ended with 0 did not fail; its server is gone, and no later probe can be answered. */
const endedCleanly = ({ readyAt }: Replica): ReplicaStatus =>
  readyAt === null ? "FAILED_INITIAL_DELAY" : "FAILED_PROBING";

/** A server that insists on a port of its own meets whoever has that. */
function portHint({ serverPort }: Replica, printed: string): string {
  const complaint = printed.split("\n").find((line) => taken.test(line));
  if (complaint === undefined) return "";
  if (new RegExp(`\\b${serverPort}\\b`).test(complaint))
    return `; its $PORT, ${serverPort}, is taken: another replica may listen there instead of on its own $PORT`;
  return `; its port is taken: the server must listen on $PORT, which is ${serverPort}`;
}

async function noteRun(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<void> {
  // The job says when its setup began, and by the clock of its node.
  const runAt = replica.runAt ?? ctx.now().getTime();
  const place = await placeOf(ctx, cluster, replica, signal);
  const isKnown = place.host === replica.host && place.port === replica.port;
  if (isKnown && runAt === replica.runAt) return;
  await ctx.batch((tx) => setReplica(tx, replica.id, { runAt, ...place }));
  void nudge(ctx, "service", replica.serviceId);
}

/**
 * Where the balancer reaches a replica: it may be another place once control was away. The address of
 * its machine is best, as it needs no control: what answers there is not looked for elsewhere.
 */
async function placeOf(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<Pick<Replica, "host" | "port">> {
  const { listenPort, host, port } = replica;
  const provider = ctx.provider(cluster.provider);
  const [head] = await provider.list(cluster, signal);
  if (head === undefined || listenPort === null) return { host, port };
  if (host === head.address && isReady(ctx, replica)) return { host, port };
  const { hostname, port: reached } = new URL(
    `http://${await provider.endpoint(head, listenPort)}`,
  );
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(reached || 80) };
}

/** A look from here may fail by chance; what the balancer says of it is the measure. */
export function isReady({ balancers }: Context, { serviceId, number }: Replica): boolean {
  const seen = balancers.seen(serviceId)?.replicas.find(({ id }) => id === number);
  return seen?.readiness === "ready";
}
