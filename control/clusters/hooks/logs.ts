import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import { product } from "../../../common/product.ts";
import { type HookEvent, hookEvents } from "../../../contract/hooks.ts";
import type { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { jobExitCodes } from "../../../contract/statuses.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { requestKey } from "../../requests/schema.ts";
import { findPast, neverWas } from "../find.ts";
import { findLifecycle, listLifecycles, listOpen } from "../lifecycles/store.ts";
import { listPendingRequests } from "../pending-requests.ts";
import { type Cluster, clusterKey, isLeaving } from "../schema.ts";
import { getCluster } from "../store.ts";
import { type Choice, chooseLog, eventsWithLogs, type Known, ofAutostop } from "./log-choice.ts";
import { knownLogs } from "./log-known.ts";
import { printHookLog } from "./log-reading.ts";
import { hasHooks } from "./told.ts";

type Input = InputOf<typeof rows.hookLogs>;

/**
 * Prints what the hooks of a cluster wrote, live or gone. Throws `NotFoundError` where nothing is to
 * be shown; it says why, and what there is.
 */
export async function hookLogs(ctx: Context, input: Input, call: Call): Promise<number> {
  const whyNone = await show(ctx, input, call);
  if (whyNone !== undefined) fail("NotFoundError", whyNone);
  return jobExitCodes.SUCCEEDED;
}

/** As `hookLogs` of autostop, for clients that print whatever comes: also why nothing is to be shown. */
export async function autostopLogs(
  ctx: Context,
  input: InputOf<typeof rows.autostopLogs>,
  call: Call,
): Promise<number> {
  const whyNone = await show(ctx, { ...input, event: null, autostop: true }, call);
  if (whyNone === undefined) return jobExitCodes.SUCCEEDED;
  call.print(`${whyNone}\n`);
  return jobExitCodes.NOT_FOUND;
}

/** Prints the log that is asked for; why there is none, if there is none. */
async function show(ctx: Context, input: Input, call: Call): Promise<string | undefined> {
  const { cluster_name: name, event, follow, tail } = input;
  const cluster = await findPast(ctx, name, call);
  if (cluster === undefined) fail("ClusterDoesNotExist", await neverWas(ctx, name, call));
  if (follow) await call.aside(untilBegun(ctx, cluster, eventsOf(input), call.signal));
  const unread = event === null || event === "stop" ? await whyUnread(ctx, cluster.id) : undefined;
  for (;;) {
    const choice = choose(await knownLogs(ctx, cluster), cluster, input);
    if (choice === undefined) break;
    if (unread !== undefined) call.print(`${unread}\n`);
    const printing = printHookLog(ctx, { cluster, follow, tail }, choice, call);
    if (await call.aside(printing)) return undefined;
    // One that turned out to have joined another is forgotten.
    if ((await findLifecycle(ctx.db, choice.lifecycle)) !== undefined) break;
  }
  return unread ?? whyNone(await knownLogs(ctx, cluster), input);
}

const eventsOf = ({ event, autostop }: Input): readonly HookEvent[] =>
  hookEvents
    .filter((one) => event === null || one === event)
    .filter((one) => !autostop || one !== "preemption");

function choose(known: Known, cluster: Cluster, input: Input): Choice | undefined {
  const hasOlderHook = (cluster.autostop?.hook ?? null) !== null;
  return chooseLog(input.autostop ? ofAutostop(known, hasOlderHook) : known, eventsOf(input));
}

function whyNone(known: Known, { cluster_name: name, event, autostop }: Input): string {
  const others = eventsWithLogs(known);
  const hint = others.length > 0 ? `; it has logs of: ${others.join(", ")}` : "";
  const hook = event === null ? "hook" : `${event} hook`;
  return `cluster ${name} has run no ${hook}${autostop ? " of autostop" : ""}${hint}`;
}

/** What is told of hooks of the latest stop that ran while nobody was there to copy what they wrote. */
async function whyUnread(ctx: Ground, id: string): Promise<string | undefined> {
  const cluster = await getCluster(ctx.db, id);
  const [newest] = await listLifecycles(ctx.db, id, 1);
  const isUnheard = newest?.cause === "idle" && newest.hooks === 0;
  if (cluster.status !== "STOPPED" || !isUnheard) return undefined;
  if (!(await hasHooks(ctx, cluster, "stop"))) return undefined;
  const start = `${product.word} start ${cluster.name}`;
  return `the nodes of cluster ${cluster.name} stopped while control was away; the output of the hooks is on them; start the cluster to read it: ${start}`;
}

/** A stop or teardown that was just asked for has its lifecycle in a moment. */
async function untilBegun(
  ctx: Ground,
  { id, name }: Cluster,
  events: readonly HookEvent[],
  signal: AbortSignal,
): Promise<void> {
  const asked = () => listPendingRequests(ctx.db, name, events);
  const look = async () => {
    const cluster = await getCluster(ctx.db, id);
    if (cluster.problem !== null || (await listOpen(ctx.db, id)).length > 0) return true;
    // It may be that nobody has begun to work on a request yet.
    return isLeaving(cluster) || (await asked()).length > 0 ? undefined : true;
  };
  const keys = [clusterKey(id), ...(await asked()).map(requestKey)];
  await ctx.changes.until(keys, look, signal);
}
