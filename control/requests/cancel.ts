import type { InputOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { requestOperations as rows } from "../../contract/operations/requests.ts";
import { ownerOf } from "../access/identity.ts";
import type { Call, Progress } from "../bind.ts";
import type { Cluster, Wanted } from "../clusters/schema.ts";
import { findCluster } from "../clusters/store.ts";
import { takeBack, wake } from "../clusters/want.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { mapInBatches } from "../map-in-batches.ts";
import { causeOf } from "../want.ts";
import { end } from "./end.ts";
import { findRequest, resolveId } from "./find.ts";
import { printerOf } from "./print.ts";
import { cancelled } from "./run.ts";
import { hasEnded, type StoredRequest } from "./schema.ts";
import * as store from "./store.ts";
import { findWork, listUnended } from "./work-store.ts";

/** What a user's cancel takes back, by the request's name: the cluster stays up while hooks run. */
const wishes: Readonly<Record<string, Wanted>> = {
  [clusterOperations.stop.name]: "STOPPED",
  [clusterOperations.down.name]: "GONE",
};

/** Cancels what was named, or all; itself and other cancels are spared. */
export async function cancel(ctx: Context, input: InputOf<typeof rows.cancel>, call: Call) {
  const { request_ids: prefixes, user_id: userId } = input;
  const ids = prefixes
    ? await mapInBatches(prefixes, (prefix) => resolveId(ctx, prefix, call))
    : await listCancellable(ctx, ownerOf(call) ?? userId);
  const ended = await mapInBatches(ids, async (id) => id !== call.id && cancelOne(ctx, id, call));
  return ids.filter((_, index) => ended[index]);
}

/** The requests of a user, or of all, that have not ended and are no cancels. */
async function listCancellable(ctx: Context, userId: string | null): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of listUnended(ctx.db, userId ?? undefined))
    ids.push(...page.flatMap(({ id, name }) => (name === rows.cancel.name ? [] : [id])));
  const reads = ctx.reads.list().filter((one) => !hasEnded(one));
  const own = reads.filter(({ user }) => userId === null || user.id === userId);
  return [...ids, ...own.map(({ id }) => id)];
}

async function cancelOne(ctx: Context, id: string, call: Call): Promise<boolean> {
  const request = await findRequest(ctx, id);
  if (request === undefined || hasEnded(request)) return false;
  const cluster = await clusterOf(ctx, id);
  const farewell = `'${protocol.requestPrefix}.${request.name}' request ${id} cancelled\n`;
  const ended = await end(ctx, id, { status: "CANCELLED" }, async (tx) => {
    const word = cluster && (await leftBehind(ctx, tx, request, cluster, call));
    // A line that is there is not printed again, as when the transaction is tried a second time.
    printerOf(ctx.requestLogs, id)((word ?? "") + farewell);
  });
  ctx.queues.abort(id, cancelled);
  if (cluster === undefined) return ended;
  wake(ctx, cluster.id);
  return ended;
}

/** The cluster that a request has wished something of, and whether it was made for it. */
async function clusterOf(ctx: Ground, id: string) {
  const work = await findWork(ctx.db, id);
  const { wish }: Progress = JSON.parse(work?.progress ?? "{}");
  const cluster = wish && (await findCluster(ctx.db, wish.clusterId));
  return cluster && { ...cluster, isNew: wish?.isNew === true };
}

/** A word about what becomes of the cluster; undefined where the request wished nothing lasting. */
async function leftBehind(
  ctx: Ground,
  tx: Connection,
  request: StoredRequest,
  { id, name, wanted: wantedBefore, isNew }: Cluster & { isNew: boolean },
  call: Call,
): Promise<string | undefined> {
  const wanted = wishes[request.name];
  if (wanted === undefined)
    return isNew && wantedBefore === "UP"
      ? `cluster ${name} continues; take it down with \`${product.word} down ${name}\`\n`
      : undefined;
  const cause = causeOf(call, `${request.name} cancelled`);
  const isShared = await isWishedElsewhere(tx, request);
  if (isShared || !(await takeBack(tx, { id, wanted }, cause)))
    return `the ${request.name} of cluster ${name} continues\n`;
  const reason = `the ${request.name} is cancelled (${cause.because})`;
  await addEvent(tx, {
    ...{ noun: "cluster", id, reason, actor: cause.by },
    ...{ isNoteworthy: true, at: ctx.now() },
  });
  return `cluster ${name} stays up: ${reason}\n`;
}

/** Whether another request that has not ended wishes the same of the cluster. */
async function isWishedElsewhere(tx: Connection, { id, name, clusterName }: StoredRequest) {
  if (clusterName === null) return false;
  const ids = await store.listUnendedOf(tx, clusterName, { names: [name], limit: 2 });
  return ids.some((one) => one !== id);
}
