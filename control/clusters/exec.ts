import { type AppError, fail } from "../../common/errors.ts";
import { sizeOf } from "../../common/growing-file.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { nudge } from "../reconciler.ts";
import { withStoredSecrets } from "../secrets/fill.ts";
import { readTask, readTaskAndRemarks, withoutSecrets } from "../task.ts";
import { causeOf } from "../want.ts";
import { keepAutostop } from "./apply.ts";
import { settingOf } from "./autostop.ts";
import { refuseMismatch } from "./claim.ts";
import { checkFiles, readCargo } from "./files/cargo.ts";
import type { Cargo } from "./files/parcels.ts";
import { getLive, getUp, refuseManaged, wayOutOf } from "./find.ts";
import { takeIdleStopBack } from "./lifecycles/take-back.ts";
import { findOpenOfHead } from "./lifecycles/wanted.ts";
import { provisionLogOf } from "./provision-log.ts";
import { type Cluster, isChanging } from "./schema.ts";
import { setCommand } from "./store.ts";
import { isAboutToGo, submitJob } from "./submit.ts";
import { toHandle } from "./view.ts";
import { untilReached } from "./wait.ts";

const hooksStay = `no effect here: config.hooks (${product.word} launch sets the hooks of a cluster)\n`;

type ExecInput = InputOf<typeof rows.exec>;

/** Runs a task on a cluster that is up, or on its way there. Setup is left out. */
export async function exec(ctx: Context, given: ExecInput, call: Call) {
  const input = { ...given, task: await withStoredSecrets(ctx, given.task, call) };
  const [task, remarks] = await readTaskAndRemarks(ctx, input.task, "exec");
  call.print(remarks);
  if (task.hooks !== undefined) call.print(hooksStay);
  const cluster = await upSoon(ctx, input, call);
  refuseMismatch(cluster, task);
  if (input.dryrun) return { job_id: null, handle: toHandle(cluster) };
  const cargoes = await readCargo(ctx, task, input, "workdir", call);
  const command = withoutSecrets(call.command, task) || cluster.command;
  await ctx.batch((tx) => setCommand(tx, cluster.id, command));
  const job = await submitUnlessLeaving(ctx, cluster, { task, cargoes }, input, call);
  if (input.down) await downWhenIdle(ctx, cluster, call);
  return { job_id: job?.id ?? null, handle: toHandle(cluster) };
}

/** What the row's shapes cannot say of an exec. */
export function checkExec(input: ExecInput): void {
  const task = readTask(input.task, "exec");
  if (!input.dryrun) checkFiles(task, "workdir");
}

/** Hands the task in; where the idle timer was first, only whoever takes that back gets it in. */
async function submitUnlessLeaving(
  ctx: Context,
  cluster: Cluster,
  { task, cargoes }: { task: Task; cargoes: readonly Cargo[] },
  input: ExecInput,
  call: Call,
): Promise<Job | undefined> {
  try {
    return await submitJob(ctx, cluster, task, { withSetup: false, cargoes }, call);
  } catch (error) {
    if (!isAboutToGo(error)) throw error;
    // What the head has begun may not be known here yet, or not be known there that it is taken back.
    await nudge(ctx, "cluster", cluster.id, call.signal);
    const head = await findOpenOfHead(ctx.db, cluster);
    const isStaying = head === undefined || (head.cause === "idle" && input.cancel_stop);
    if (!isStaying) return refuseLeaving(cluster, error);
  }
  const again = await upSoon(ctx, input, call);
  return submitJob(ctx, again, task, { withSetup: false, cargoes }, call);
}

const refuseLeaving = ({ name, status }: Cluster, { message }: AppError): never =>
  fail("ClusterNotUpError", `cluster ${name}: ${message}; launch waits until that is over`, {
    status,
  });

/** The cluster once it is up, and to stay so; waits for a launch or start that is under way. */
async function upSoon(ctx: Context, input: ExecInput, call: Call): Promise<Cluster> {
  const { cluster_name: name, cancel_stop: cancelsStop } = input;
  const before = await getLive(ctx, name);
  refuseManaged(before);
  if (cancelsStop) await takeIdleStopBack(ctx, before, causeOf(call, "exec"));
  const cluster = cancelsStop ? await getLive(ctx, name) : before;
  const { status, wanted, wantedBecause } = cluster;
  const isLeaving = wanted !== "UP" && (status === "UP" || status === "AUTOSTOPPING");
  const wayOut = wayOutOf(cluster, `${product.word} exec --cancel-stop ${name} …`);
  const says = `cluster ${name} does not stay up (${wantedBecause}); ${wayOut}`;
  if (isLeaving) fail("ClusterNotUpError", says, { status });
  if (wanted !== "UP" || !isChanging(cluster) || cluster.problem !== null) return getUp(ctx, name);
  await call.note(`waits until cluster ${name} is UP`);
  const printed = await sizeOf(provisionLogOf(ctx, cluster.id));
  return untilReached(ctx, cluster.id, "UP", call, { printed });
}

async function downWhenIdle(ctx: Context, cluster: Cluster, call: Call): Promise<void> {
  const asked = { idleMinutes: 0, down: true, waitFor: "jobs" } as const;
  const autostop = settingOf(asked, cluster.autostop);
  await keepAutostop(ctx, cluster, autostop, call.signal);
}
