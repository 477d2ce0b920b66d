import { AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { clusterMachine } from "../../contract/statuses.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { move } from "../move.ts";
import { causeOf } from "../want.ts";
import { keepAutostop } from "./apply.ts";
import { settingOf } from "./autostop.ts";
import { getLive, refuseManaged } from "./find.ts";
import { chosenHooks } from "./hooks/hint.ts";
import { endAll } from "./lifecycles/adopt.ts";
import { listOpen } from "./lifecycles/store.ts";
import { type Cluster, isLeaving } from "./schema.ts";
import { getCluster } from "./store.ts";
import { endUsage } from "./usage-store.ts";
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
    const setting = settingOf({ idleMinutes: minutes, down, waitFor }, cluster.autostop);
    await keepAutostop(ctx, cluster, setting, call.signal);
    return cluster;
  };
  const desire = { wanted: "UP", ...causeOf(call, "start") } as const;
  return toHandle(await reach(ctx, find, desire, call, { keepTrying: input.retry_until_up }));
}

/** The cluster, once nobody is taking it down or stopping it. */
async function settled(ctx: Ground, name: string, call: Call): Promise<Cluster> {
  for (;;) {
    const cluster = await getLive(ctx, name);
    if (cluster.wanted === "GONE")
      fail("ConflictError", `cluster ${name} is being taken down (${cluster.wantedBecause})`);
    refuseManaged(cluster);
    if (!isLeaving(cluster)) return cluster;
    await untilSettled(ctx, cluster, call);
  }
}

type StopOrDown = InputOf<typeof rows.stop>;

/** Turns the nodes of a cluster off and keeps their disks. */
export async function stop(ctx: Context, input: StopOrDown, call: Call) {
  const find = async () => {
    const cluster = await stoppable(ctx, input.cluster_name);
    await warnOfPreemption(
      ctx,
      cluster,
      "the provider decides whether it is stopped or deleted",
      call,
    );
    await tellChosen(ctx, cluster, "stop", input, call);
    return cluster;
  };
  await reach(
    ctx,
    find,
    { wanted: "STOPPED", ...causeOf(call, "stop"), skipHooks: skipsHooks(input) },
    call,
  );
  return null;
}

async function stoppable(ctx: Context, name: string): Promise<Cluster> {
  const cluster = await getLive(ctx, name);
  refuseManaged(cluster);
  if (cluster.wanted === "GONE")
    fail("ConflictError", `cluster ${name} is being taken down (${cluster.wantedBecause})`);
  refuseUnstoppable(ctx, cluster);
  return cluster;
}

/** Known beforehand, so that no job ends for a stop that cannot be. */
export function refuseUnstoppable(ctx: Context, { provider }: Cluster): void {
  if (ctx.provider(provider).stop === undefined)
    fail(
      "NotSupportedError",
      `${provider} cannot stop nodes; take the cluster down, or set autostop to down`,
    );
}

/** Who purges wants it to go whatever happens. */
const skipsHooks = ({ skip_hooks: skips, purge: purges }: StopOrDown): boolean => skips || purges;

/** Says what becomes of the hooks of a stop or teardown that meets a preemption. */
async function warnOfPreemption(ctx: Ground, cluster: Cluster, but: string, call: Call) {
  for (const { rank, events, because } of await listOpen(ctx.db, cluster.id))
    if (events.includes("preemption"))
      call.print(`warning: node ${rank} is being taken away (${because}); ${but}\n`);
}

/** Numbers of hooks that never run look like hooks that were lost. */
async function tellChosen(
  ctx: Ground,
  cluster: Cluster,
  event: "stop" | "down",
  input: StopOrDown,
  call: Call,
): Promise<void> {
  if (cluster.status === "UP" && !skipsHooks(input))
    call.print(await chosenHooks(ctx, cluster, event));
}

/** Deletes the nodes of a cluster and their disks. */
export async function down(ctx: Context, input: StopOrDown, call: Call) {
  const find = async () => {
    const cluster = await getLive(ctx, input.cluster_name);
    // One that goes anyhow may be joined, and purged where it cannot.
    if (cluster.wanted !== "GONE") refuseManaged(cluster);
    await warnOfPreemption(ctx, cluster, "hooks for down run only while there is time", call);
    await tellChosen(ctx, cluster, "down", input, call);
    return cluster;
  };
  const desire = {
    wanted: "GONE",
    ...causeOf(call, "down"),
    skipHooks: skipsHooks(input),
  } as const;
  try {
    await reach(ctx, find, desire, call);
  } catch (error) {
    const { wish } = call.progress;
    if (!input.purge || wish === undefined || call.signal.aborted) throw error;
    await purge(ctx, wish.clusterId, error);
  }
  return null;
}

/** Forgets a cluster although its nodes could not be deleted. */
async function purge(ctx: Ground, id: string, error: unknown): Promise<void> {
  const cluster = await getCluster(ctx.db, id);
  const why = error instanceof AppError ? error.message : "an error of ours";
  const at = ctx.now().getTime();
  const reason = `purged; nodes may remain: ${why}`;
  await move(ctx, clusterMachine, cluster, "GONE", reason, {
    async also(tx) {
      await endUsage(tx, id, at);
      await endAll(ctx, tx, { ...cluster, status: "GONE" }, await listOpen(tx, id));
    },
  });
}
