import { AppError } from "../../../common/errors.ts";
import { envOf } from "../../../common/product.ts";
import type { JobSidecar } from "../../../contract/agent-shapes.ts";
import { fillTemplate } from "../../../contract/task/substitution.ts";
import {
  addManaged,
  delayOf,
  lossOf,
  passing,
  policyRefusal,
  submitManaged,
  whyRefused,
} from "../../clusters/managed.ts";
import type { Cluster } from "../../clusters/schema.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { asksForSpot } from "../../needs.ts";
import { isLive } from "../decisions/plan.ts";
import { replicaLogOf } from "../folders.ts";
import { shownTask, withSealedKeys } from "../keys.ts";
import { narrate } from "../narration.ts";
import { type Outcome, type Replica, wordsOf } from "../schema.ts";
import { getService } from "../store.ts";
import { type OpenVersion, openVersion } from "../versions/task.ts";
import { printTo } from "./log.ts";
import { type ReplicaPorts, sharesPorts, takePorts } from "./ports.ts";
import { listReplicas, setReplica } from "./store.ts";

/** How a replica comes to be: its cluster is made, then its task is handed in. */

/** Has the cluster of a replica made; undefined while it waits for a machine, which is why it is what it is. */
export async function makeCluster(
  ctx: Context,
  replica: Replica,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const service = await getService(ctx.db, replica.serviceId);
  const version = await openVersion(ctx, replica);
  const usesSpot = await asksForSpot(ctx, version.task.resources);
  // Spot capacity comes and goes; other capacity may be freed by a replica that is leaving.
  const mayWait = (usesSpot && replica.isSpot) || (await leavesMachine(ctx, replica.serviceId));
  try {
    const cluster = await addManaged(
      ctx,
      {
        // The id of a replica is one of a cluster: a second attempt makes no second one.
        id: replica.id,
        name: replica.clusterName,
        madeFor: {
          ...{ what: `${wordsOf(service).noun} ${service.name}`, noun: "replica", id: replica.id },
          // What ran on a worker that lost a node is lost.
          ...(service.isPool && { isReplacedWhole: true }),
        },
        user: service.user,
        workspace: service.workspace,
        because: replica.wantedBecause,
        task: version.task,
        taskYaml: shownTask(version),
        ...(usesSpot && { isSpot: replica.isSpot }),
      },
      signal,
    );
    const { accelerators } = cluster.offer;
    const change = { clusterId: cluster.id, accelerators };
    return { to: "PROVISIONING", reason: `cluster ${cluster.name} is being created`, change };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Others of the workspace may end, its limits may be raised, and a day ends.
    if (error.type === policyRefusal)
      return wait(ctx, replica, `waits until its workspace allows it: ${error.message}`);
    if (passing.includes(error.type)) throw error;
    const isUnplaced = error.type === "ResourcesUnavailableError";
    if (mayWait && isUnplaced)
      return wait(ctx, replica, `waits until there is a machine for it: ${error.message}`);
    return { to: "FAILED_PROVISION", reason: error.message, change: { isUnplaced } };
  }
}

/** Says once why it waits. */
async function wait(ctx: Ground, replica: Replica, reason: string): Promise<undefined> {
  if (reason === replica.reason) return;
  await ctx.batch((tx) => setReplica(tx, replica.id, { reason }));
  const service = await getService(ctx.db, replica.serviceId);
  narrate(ctx, replica.serviceId, `${wordsOf(service).member} ${replica.number} ${reason}`);
}

/** Whether a replica of the service is on its way out that still has a machine. */
async function leavesMachine(ctx: Ground, serviceId: string): Promise<boolean> {
  const replicas = await listReplicas(ctx.db, serviceId);
  const leaving = replicas.filter((one) => !isLive(one) && one.status !== "FAILED_CLEANUP");
  const clusters = await Promise.all(
    leaving.map(({ clusterId }) => findCluster(ctx.db, clusterId ?? "")),
  );
  return clusters.some((one) => one !== undefined && one.status !== "GONE");
}

/** Hands the task in once the cluster is up; undefined while it is not. */
export async function handIn(
  ctx: Context,
  replica: Replica,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const cluster = await findCluster(ctx.db, replica.clusterId ?? "");
  if (cluster === undefined || cluster.wanted !== "UP")
    return { to: "PREEMPTED", reason: cluster?.wantedBecause ?? "its cluster is gone" };
  if (cluster.status === "UP")
    return submit(ctx, replica, cluster, signal).catch(async (error: unknown) => ({
      to: "FAILED_PROVISION" as const,
      reason: await whyRefused(error, signal, (reason) => wait(ctx, replica, reason)),
    }));
  const isReplaced = cluster.everUp && cluster.madeFor?.isReplacedWhole;
  const loss = isReplaced ? await lossOf(ctx, cluster, signal) : undefined;
  if (loss !== undefined) return { to: "PREEMPTED", reason: loss };
  const { problem } = cluster;
  if (problem !== null && !passing.includes(problem.type))
    return { to: "FAILED_PROVISION", reason: problem.message };
  const delay = await delayOf(ctx, cluster);
  return delay === undefined ? undefined : wait(ctx, replica, `waits for its cluster: ${delay}`);
}

async function submit(
  ctx: Context,
  replica: Replica,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Outcome> {
  const version = await openVersion(ctx, replica);
  if (version.task.pool !== undefined) return setUp(ctx, replica, cluster, version, signal);
  const ports = await takePorts(ctx, replica, cluster, version);
  const env = {
    PORT: String(ports.serverPort),
    ...envOf("REPLICA_PORT", String(ports.serverPort)),
    ...envOf("SERVE_REPLICA_ID", String(replica.number)),
  };
  const job = await submitManaged(
    ctx,
    cluster,
    withSealedKeys(version),
    {
      submissionId: replica.id,
      env,
      sidecar: sidecarOf(version, ports, cluster),
      blobId: version.blobId,
      print: printTo(replicaLogOf(ctx, replica)),
    },
    signal,
  );
  if (job === undefined) return { to: "FAILED_PROVISION", reason: "its task has nothing to run" };
  // Those of the machine that was chosen first may have been refused.
  const { accelerators } = cluster.offer;
  const change = { jobId: job.id, accelerators };
  return { to: "STARTING", reason: "its task was submitted", change };
}

/** Has a worker do its setup, once. */
async function setUp(
  ctx: Context,
  replica: Replica,
  cluster: Cluster,
  { task, blobId }: OpenVersion,
  signal: AbortSignal,
): Promise<Outcome> {
  const print = printTo(replicaLogOf(ctx, replica));
  const given = { submissionId: replica.id, env: {}, sidecar: null, blobId, print };
  const job = await submitManaged(ctx, cluster, task, given, signal);
  const { accelerators } = cluster.offer;
  return {
    to: "STARTING",
    reason: "it is being set up",
    change: { jobId: job?.id ?? null, accelerators },
  };
}

/** Where only control and the node itself are on the machine, nobody else need reach the sidecar. */
const listenHost = (cluster: Cluster): string => (sharesPorts(cluster) ? "127.0.0.1" : "0.0.0.0");

function sidecarOf(
  { task, spec }: OpenVersion,
  { listenPort: port, serverPort }: ReplicaPorts,
  cluster: Cluster,
): JobSidecar | null {
  if (spec.auth === undefined) return null;
  const { apiKey: key } = fillTemplate(spec.auth, task.secrets);
  return { listen: { host: listenHost(cluster), port }, serverPort, key };
}
