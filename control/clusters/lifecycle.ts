import { AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { clusterMachine } from "../../contract/statuses.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { move } from "../move.ts";
import { getLive, getUp } from "./find.ts";
import { headOf } from "./head.ts";
import { type AutostopSetting, agentAutostop, type Cluster, isLeaving } from "./schema.ts";
import { endUsage, getCluster, setAutostop } from "./store.ts";
import { toHandle } from "./view.ts";
import { reach, untilSettled } from "./wait.ts";

/** Starts a stopped cluster again; one that is up is left alone. */
export async function start(ctx: Context, input: InputOf<typeof rows.start>, call: Call) {
  const { idle_minutes_to_autostop: minutes, down, wait_for: waitFor } = input;
  if (down && minutes === null)
    fail("ValueError", "down needs idle_minutes_to_autostop: after how many idle minutes?");
  const find = async () => {
    const cluster = await settled(ctx, input.cluster_name, call);
    if (minutes === null) return cluster;
    const setting =
      minutes < 0 ? null : { idleMinutes: minutes, down, waitFor: waitFor ?? "jobs_and_ssh" };
    await keepAutostop(ctx, cluster, setting, call.signal);
    return cluster;
  };
  const desire = { wanted: "UP", because: `start by ${call.user.name}` } as const;
  return toHandle(await reach(ctx, find, desire, call, { keepTrying: input.retry_until_up }));
}

/** The cluster, once nobody is taking it down or stopping it. */
async function settled(ctx: Context, name: string, call: Call): Promise<Cluster> {
  for (;;) {
    const cluster = await getLive(ctx, name);
    if (cluster.wanted === "GONE")
      fail("ConflictError", `cluster ${name} is being taken down (${cluster.wantedBecause})`);
    if (!isLeaving(cluster)) return cluster;
    await untilSettled(ctx, cluster, call);
  }
}

/** Turns the nodes of a cluster off and keeps their disks. */
export async function stop(ctx: Context, input: InputOf<typeof rows.stop>, call: Call) {
  const because = `stop by ${call.user.name}`;
  const find = () => stoppable(ctx, input.cluster_name);
  await reach(ctx, find, { wanted: "STOPPED", because }, call);
  return null;
}

async function stoppable(ctx: Context, name: string): Promise<Cluster> {
  const cluster = await getLive(ctx, name);
  if (cluster.wanted === "GONE")
    fail("ConflictError", `cluster ${name} is being taken down (${cluster.wantedBecause})`);
  refuseUnstoppable(ctx, cluster);
  return cluster;
}

/** Known beforehand, so that no job ends for a stop that cannot be. */
function refuseUnstoppable(ctx: Context, { provider }: Cluster): void {
  if (ctx.provider(provider).stop === undefined)
    fail("NotSupportedError", `${provider} cannot stop nodes; take the cluster down`);
}

/** Deletes the nodes of a cluster and their disks. */
export async function down(ctx: Context, input: InputOf<typeof rows.down>, call: Call) {
  const because = `down by ${call.user.name}`;
  const find = () => getLive(ctx, input.cluster_name);
  try {
    await reach(ctx, find, { wanted: "GONE", because }, call);
  } catch (error) {
    const { wish } = call.progress;
    if (!input.purge || wish === undefined || call.signal.aborted) throw error;
    await purge(ctx, wish.clusterId, error);
  }
  return null;
}

/** Forgets a cluster although its nodes could not be deleted. */
async function purge(ctx: Context, id: string, error: unknown): Promise<void> {
  const cluster = await getCluster(ctx.db, id);
  const why = error instanceof AppError ? error.message : "an error of ours";
  const at = ctx.now().getTime();
  await move(ctx, clusterMachine, cluster, "GONE", `purged; nodes may be left: ${why}`, (tx) =>
    endUsage(tx, id, at),
  );
}

/** Sets or cancels what happens to a cluster once it is idle. */
export async function autostop(ctx: Context, input: InputOf<typeof rows.autostop>, call: Call) {
  if (input.hook !== null)
    fail("NotSupportedError", "hooks are not run yet in this version; leave hook out");
  const cluster = await getUp(ctx, input.cluster_name);
  const { idle_minutes: idleMinutes, down: isDown, wait_for: waitFor } = input;
  const setting =
    idleMinutes < 0 ? null : { idleMinutes, down: isDown, waitFor: waitFor ?? "jobs_and_ssh" };
  if (setting !== null && !isDown) refuseUnstoppable(ctx, cluster);
  await keepAutostop(ctx, cluster, setting, call.signal);
  return null;
}

async function keepAutostop(
  ctx: Context,
  cluster: Cluster,
  setting: AutostopSetting | null,
  signal: AbortSignal,
): Promise<void> {
  await ctx.batch((tx) => setAutostop(tx, cluster.id, setting));
  const now = await getCluster(ctx.db, cluster.id);
  if (now.status === "UP") await applyAutostop(ctx, now, signal);
}

/** Tells the head when it is idle for long enough. */
export async function applyAutostop(ctx: Context, cluster: Cluster, signal: AbortSignal) {
  const setting = agentAutostop(cluster);
  await headOf(ctx, cluster).call(agentOperations.setAutostop, setting, { signal });
}
