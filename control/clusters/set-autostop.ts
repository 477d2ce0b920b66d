import { fail } from "../../common/errors.ts";
import { sizeOf } from "../../common/growing-file.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { hookLimits } from "../../contract/task/hooks.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { causeOf } from "../want.ts";
import { admitAutostop } from "../workspaces/admit.ts";
import { keepAutostop } from "./apply.ts";
import { settingOf } from "./autostop.ts";
import { getLive, getUp, refuseManaged } from "./find.ts";
import { refuseUnstoppable } from "./lifecycle.ts";
import { takeIdleStopBack } from "./lifecycles/take-back.ts";
import { listPendingRequests } from "./pending-requests.ts";
import { provisionLogOf } from "./provision-log.ts";
import type { AutostopHook, Cluster } from "./schema.ts";
import { getCluster, setAutostop } from "./store.ts";
import { untilReached } from "./wait.ts";

type Input = InputOf<typeof rows.autostop>;

/** Sets or cancels what happens to a cluster once it is idle. */
export async function autostop(ctx: Context, input: Input, call: Call) {
  const { idle_minutes: idleMinutes, down, wait_for: waitFor } = input;
  const live = await getLive(ctx, input.cluster_name);
  refuseManaged(live);
  if (idleMinutes < 0 && live.status === "AUTOSTOPPING") return cancel(ctx, live, call);
  const cluster = await getUp(ctx, input.cluster_name);
  const hook = hookOf(input);
  const setting = settingOf({ idleMinutes, down, waitFor, hook }, cluster.autostop);
  if (setting !== null && !down) refuseUnstoppable(ctx, cluster);
  if (hook !== undefined)
    call.print(
      `\`hook\` is deprecated; write it under \`config.hooks\` with events: [${down ? "down" : "stop"}]\n`,
    );
  await keepAutostop(ctx, cluster, setting, call.signal);
  if (idleMinutes < 0) call.print(await remarkOnStop(ctx, cluster));
  return null;
}

/** Who cancels autostop is told of a stop that somebody asked for; nothing where none is under way. */
async function remarkOnStop(ctx: Ground, { id }: Cluster): Promise<string> {
  const { name, wanted, wantedBecause } = await getCluster(ctx.db, id);
  if (wanted === "UP") return "";
  return `${wantedBecause} is in progress and continues${await takeBackHint(ctx, name)}\n`;
}

/** How to take back what users asked for; nothing where nobody did. */
async function takeBackHint(ctx: Ground, name: string): Promise<string> {
  const requests = await listPendingRequests(ctx.db, name);
  if (requests.length === 0) return "";
  return `; cancel it with: ${product.word} api cancel ${requests.join(" ")}`;
}

/** What the row's shapes cannot say of it. */
export function checkAutostop(input: Input): void {
  hookOf(input);
}

/** The hook of an input; throws `ValueError` where it is none that could run. */
function hookOf({ hook, hook_timeout: timeout }: Input): AutostopHook | undefined {
  const { runBytes, timeoutSeconds: usual, timeoutAtMostSeconds: atMost } = hookLimits;
  if (hook === null && timeout !== null) fail("ValueError", "hook_timeout needs a hook");
  if (hook === null) return undefined;
  if (hook.trim() === "") fail("ValueError", "hook must not be empty; it is a script");
  if (Buffer.byteLength(hook) > runBytes)
    fail(
      "ValueError",
      `hook must not exceed ${runBytes / 1024} KiB; call a longer script by its path`,
    );
  const timeoutSeconds = timeout ?? usual;
  if (timeoutSeconds < 1 || timeoutSeconds > atMost)
    fail("ValueError", `hook_timeout must be between 1 and ${atMost}, not ${timeoutSeconds}`);
  return { run: hook, timeoutSeconds };
}

/** Keeps a cluster up whose idle timer ran out, as long as its hooks run. */
async function cancel(ctx: Context, cluster: Cluster, call: Call): Promise<null> {
  const { id, name, wanted, wantedBecause, status } = cluster;
  const cause = causeOf(call, "autostop cancelled");
  const printed = await sizeOf(provisionLogOf(ctx, id));
  const forget = async (tx: Connection) => {
    await admitAutostop(ctx, tx, cluster, null);
    await setAutostop(tx, id, null);
  };
  if (wanted !== "UP" && !(await takeIdleStopBack(ctx, cluster, cause, forget)))
    fail(
      "ClusterNotUpError",
      `cluster ${name} can no longer be kept up (${wantedBecause})${await takeBackHint(ctx, name)}`,
      { status },
    );
  await untilReached(ctx, id, "UP", call, { printed });
  return null;
}
