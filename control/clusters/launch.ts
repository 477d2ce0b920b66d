import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { chooseOffer, describeMachines } from "../offers.ts";
import { claim, refuseMismatch } from "./claim.ts";
import { type Cluster, isClusterName } from "./schema.ts";
import { findLive, getCluster } from "./store.ts";
import { submitJob } from "./submit.ts";
import { readTask, remarksOn } from "./task.ts";
import { toHandle } from "./view.ts";
import { undo, untilReached } from "./wait.ts";

type Input = InputOf<typeof rows.launch>;

/** Creates a cluster, or takes the one of that name, and runs a task on it. */
export async function launch(ctx: Context, input: Input, call: Call) {
  const task = readTask(input.task, "launch");
  call.print(remarksOn(input.task));
  if (input.dryrun) return plan(ctx, input, task, call);

  const up = await bringUp(ctx, input, task, call);
  const job = await submitJob(ctx, up, task, { withSetup: !input.no_setup }, call);
  return { job_id: job?.id ?? null, handle: toHandle(up) };
}

/** What the row's shapes cannot say of a launch. */
export function checkLaunch(input: Input): void {
  if (!isClusterName(input.cluster_name))
    fail(
      "InvalidClusterNameError",
      `${JSON.stringify(input.cluster_name)} cannot name a cluster: begin with a letter, end with ` +
        "a letter or digit, use letters, digits, - _ and . in between, 120 at most",
    );
  readTask(input.task, "launch");
}

/** Says what a launch would take, and makes nothing. */
async function plan(ctx: Context, input: Input, task: Task, call: Call) {
  const { cluster_name: name } = input;
  const live = await findLive(ctx.db, name);
  if (live !== undefined) refuseMismatch(live, task);
  const { nodes } = live ?? task;
  const offer = live?.offer ?? (await chooseOffer(ctx, task.resources, call.signal));
  call.print(`Cluster ${name}: ${describeMachines({ nodes, offer })}\n`);
  return { job_id: null, handle: null };
}

/** The cluster of this launch, once it is up; one that it made is removed when it cannot be had. */
async function bringUp(ctx: Context, input: Input, task: Task, call: Call): Promise<Cluster> {
  const { clusterId: id, isNew, printed } = await claim(ctx, input, task, call);
  try {
    return await untilReached(ctx, id, "UP", call, { keepTrying: input.retry_until_up, printed });
  } catch (error) {
    if (call.signal.aborted) throw error;
    const { wanted, problem, name } = await getCluster(ctx.db, id);
    if (isNew && wanted === "UP" && problem !== null)
      await undo(ctx, { id, name }, "its launch failed");
    throw error;
  }
}
