import { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { requestOperations as rows } from "../../contract/operations/requests.ts";
import type { RequestPayload } from "../../contract/records/requests.ts";
import { type Bound, bind, type Call, type Progress, type Reply } from "../bind.ts";
import { findCluster, listLiveNames } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { streamIdHeaders } from "../wire/versions.ts";
import { cancelled, end } from "./run.ts";
import { hasEnded, requestKey, type StoredRequest } from "./schema.ts";
import * as store from "./store.ts";
import { streamOf } from "./stream.ts";
import { toFetched, toListed } from "./view.ts";

const completionsAtMost = 1_000;
/** An id this long is whole: nothing has to be looked up to complete it. */
const idLength = 36;
const listedAtMost = 1_000;

/** Requests: wait for one, read its text, list, cancel; and what a client asks of control itself. */
export const requestOperations: Bound[] = [
  { ...bind(rows.get, get), statusOf: ({ status }: Fetched) => (status === "FAILED" ? 500 : 200) },
  bind(rows.stream, stream),
  bind(rows.status, status),
  bind(rows.cancel, cancel),
  bind(rows.health, health),
  bind(rows.plugins, async () => ({ plugins: [] })),
  bind(rows.completeClusterName, async (ctx, { incomplete }) =>
    listLiveNames(ctx.db, incomplete, completionsAtMost),
  ),
  bind(rows.completeStorageName, async () => []),
  bind(rows.completeVolumeName, async () => []),
  bind(rows.completeRequestId, async (ctx, { incomplete }) =>
    store.findIds(ctx.db, incomplete, completionsAtMost),
  ),
];

/** A failed one also has its record under `detail`: existing clients look in either place. */
type Fetched = RequestPayload & { detail?: RequestPayload };

/** Waits until the request has ended, for as long as the client stays. */
async function get(ctx: Context, input: InputOf<typeof rows.get>, call: Call): Promise<Fetched> {
  const asked = input.request_id;
  const id = asked.length === idLength ? asked : await resolveId(ctx, asked);
  const ended = await ctx.changes.until(
    requestKey(id),
    async () => {
      const request = await getRequest(ctx, id);
      return hasEnded(request) ? request : undefined;
    },
    call.signal,
  );
  const record = toFetched(ended, call.clientApi);
  return record.status === "FAILED" ? { ...record, detail: record } : record;
}

async function stream(
  ctx: Context,
  input: InputOf<typeof rows.stream>,
  call: Call,
): Promise<Reply> {
  if (input.log_path !== null)
    fail("NotSupportedError", "log_path is not served; name a request, or read the log of control");
  const asked = input.request_id ?? (await store.findIds(ctx.db, "", 1))[0];
  if (asked === undefined) fail("NotFoundError", "there is no request yet");
  const request = await getRequest(ctx, await resolveId(ctx, asked));
  const { tail, follow, format } = input;
  const text = streamOf(ctx, request, { tail: tail ?? 0, follow, format }, call.signal);
  return { headers: streamIdHeaders(asked), body: Readable.from(text) };
}

async function status(ctx: Context, input: InputOf<typeof rows.status>) {
  const { request_ids: prefixes, all_status: all, limit, cluster_name: clusterName } = input;
  const found =
    prefixes && (await Promise.all(prefixes.map((id) => store.findIds(ctx.db, id, 100))));
  const requests = await store.listRequests(ctx.db, {
    ...(found && { ids: found.flat() }),
    ...(!found && !all && { unendedOnly: true }),
    ...(!found && clusterName !== null && { clusterName }),
    ...(!found && { limit: limit ?? listedAtMost }),
  });
  return requests.map(toListed);
}

/** Cancels what was named, or all; itself and other cancels are spared. */
async function cancel(ctx: Context, input: InputOf<typeof rows.cancel>, call: Call) {
  const { request_ids: prefixes, user_id: userId } = input;
  const ids = prefixes
    ? await Promise.all(prefixes.map((prefix) => resolveId(ctx, prefix)))
    : (
        await store.listRequests(ctx.db, { unendedOnly: true, ...(userId !== null && { userId }) })
      ).flatMap(({ id, name }) => (name === rows.cancel.name ? [] : [id]));
  const ended = await Promise.all(ids.map((id) => (id === call.id ? false : cancelOne(ctx, id))));
  return ids.filter((_, index) => ended[index]);
}

async function cancelOne(ctx: Context, id: string): Promise<boolean> {
  const request = await store.findRequest(ctx.db, id);
  if (request === undefined || hasEnded(request)) return false;
  const farewell = `'${protocol.requestPrefix}.${request.name}' request ${id} cancelled\n`;
  ctx.requestLogs.append(id, (await leftBehind(ctx, id)) + farewell);
  const ended = await end(ctx, id, { status: "CANCELLED" });
  ctx.queues.abort(id, cancelled);
  return ended;
}

/** A word about the cluster that was made for a request and goes up all the same. */
async function leftBehind(ctx: Context, id: string): Promise<string> {
  const work = await store.findWork(ctx.db, id);
  const { wish }: Progress = JSON.parse(work?.progress ?? "{}");
  const cluster = wish?.isNew ? await findCluster(ctx.db, wish.clusterId) : undefined;
  if (cluster?.wanted !== "UP") return "";
  const { name } = cluster;
  return `cluster ${name} goes on; take it down with \`${product.word} down ${name}\`\n`;
}

async function health() {
  return {
    status: "healthy" as const,
    api_version: String(protocol.apiVersion),
    version: protocol.version,
    version_on_disk: protocol.version,
    commit: product.version,
    basic_auth_enabled: false,
    user: null,
  };
}

/** The one request that an id or a prefix names. */
async function resolveId(ctx: Context, prefix: string): Promise<string> {
  const ids = await store.findIds(ctx.db, prefix, 2);
  const exact = ids.find((id) => id === prefix);
  if (exact !== undefined) return exact;
  const [id] = ids;
  if (prefix === "" || id === undefined) return notFound(prefix);
  if (ids.length > 1)
    fail("ValueError", `several requests begin with ${prefix}; give more of the id`);
  return id;
}

async function getRequest(ctx: Context, id: string): Promise<StoredRequest> {
  const request = await store.findRequest(ctx.db, id);
  return request ?? notFound(id);
}

const notFound = (id: string): never =>
  fail("NotFoundError", `there is no request ${id}; ended ones are forgotten after a day`);
