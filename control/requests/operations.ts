import { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { requestOperations as rows } from "../../contract/operations/requests.ts";
import type { RequestPayload } from "../../contract/records/requests.ts";
import { type Bound, bind, type Call, type Reply } from "../bind.ts";
import { listLiveNames } from "../clusters/list-store.ts";
import type { Context } from "../context.ts";
import { inTurns } from "../in-turns.ts";
import { streamIdHeaders } from "../wire/versions.ts";
import { cancel } from "./cancel.ts";
import { findEnded, getRequest, resolveId } from "./find.ts";
import { hasEnded, requestKey, type StoredRequest } from "./schema.ts";
import * as store from "./store.ts";
import { streamOf } from "./stream.ts";
import { toFetched, toListed } from "./view.ts";

const completionsAtMost = 1_000;
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
  const id = await resolveId(ctx, input.request_id);
  const ended = await ctx.changes.until(requestKey(id), () => findEnded(ctx, id), call.signal);
  const record = toFetched(ended, call);
  return record.status === "FAILED" ? { ...record, detail: record } : record;
}

async function stream(
  ctx: Context,
  input: InputOf<typeof rows.stream>,
  call: Call,
): Promise<Reply> {
  if (input.log_path !== null)
    fail("NotSupportedError", "log_path is not served; name a request, or read the log of control");
  const asked = input.request_id ?? (await store.listRequests(ctx.db, { limit: 1 }))[0]?.id;
  if (asked === undefined) fail("NotFoundError", "there are no requests yet");
  const request = await getRequest(ctx, await resolveId(ctx, asked));
  const { tail, follow, format } = input;
  const text = streamOf(ctx, request, { tail: tail ?? 0, follow, format }, call.signal);
  return { headers: streamIdHeaders(asked), body: Readable.from(text) };
}

/** A page of requests, newest first; `after` leads from one page to the next. */
async function status(ctx: Context, input: InputOf<typeof rows.status>) {
  const { request_ids: prefixes, after, fields } = input;
  const limit = input.limit ?? listedAtMost;
  const before = after === null ? undefined : await getRequest(ctx, await resolveId(ctx, after));
  const found = await (prefixes ? findAll(ctx, prefixes) : listAll(ctx, input, before, limit));
  return found
    .filter((one) => before === undefined || byAge(before, one) < 0)
    .sort(byAge)
    .slice(0, limit)
    .map((one) => toListed(one, fields));
}

/** The newest first. */
const byAge = (a: StoredRequest, b: StoredRequest): number =>
  b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);

/** Those whose ids begin with any of these texts. */
async function findAll(ctx: Context, prefixes: readonly string[]): Promise<StoredRequest[]> {
  const ids = await inTurns(prefixes, (prefix) => store.findIds(ctx.db, prefix, 100));
  const chosen = [...new Set(ids.flat())].slice(0, listedAtMost);
  const reads = ctx.reads.list().filter(({ id }) => prefixes.some((one) => id.startsWith(one)));
  return [...(await store.listByIds(ctx.db, chosen)), ...reads];
}

async function listAll(
  ctx: Context,
  { all_status: all, cluster_name: clusterName }: InputOf<typeof rows.status>,
  before: StoredRequest | undefined,
  limit: number,
): Promise<StoredRequest[]> {
  const filter = { unendedOnly: !all, clusterName: clusterName ?? undefined, before, limit };
  const reads = ctx.reads
    .list()
    .filter((one) => all || !hasEnded(one))
    .filter((one) => clusterName === null || one.clusterName === clusterName);
  return [...(await store.listRequests(ctx.db, filter)), ...reads];
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
    restrict_config_to_admins: true,
  };
}
