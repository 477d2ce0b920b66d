import { Readable } from "node:stream";
import { findCommit } from "../../common/commit.ts";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { requestOperations as rows } from "../../contract/operations/requests.ts";
import type { RequestPayload } from "../../contract/records/requests.ts";
import { ownerOf } from "../access/identity.ts";
import { type Bound, bind, type Call, type Reply } from "../bind.ts";
import { listLiveNames } from "../clusters/list-store.ts";
import type { Context } from "../context.ts";
import { mapInBatches } from "../map-in-batches.ts";
import { fetchedRequest, listedRequest } from "../wire/records.ts";
import { streamIdHeaders } from "../wire/versions.ts";
import { cancel } from "./cancel.ts";
import { findEnded, getRequest, resolveId } from "./find.ts";
import { hasEnded, requestKey, type StoredRequest } from "./schema.ts";
import * as store from "./store.ts";
import { streamOf } from "./stream.ts";

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
  bind(rows.completeClusterName, async (ctx, { incomplete }, { workspaces }) =>
    listLiveNames(ctx.db, incomplete, completionsAtMost, workspaces),
  ),
  bind(rows.completeRequestId, async (ctx, { incomplete }, call) =>
    store.findIds(ctx.db, incomplete, completionsAtMost, ownerOf(call)),
  ),
];

/** A failed one also has its record under `detail`: existing clients look in either place. */
type Fetched = RequestPayload & { detail?: RequestPayload };

/** Waits until the request has ended, for as long as the client stays. */
async function get(ctx: Context, input: InputOf<typeof rows.get>, call: Call): Promise<Fetched> {
  const id = await resolveId(ctx, input.request_id, call);
  const ended = await ctx.changes.until(requestKey(id), () => findEnded(ctx, id), call.signal);
  const record = fetchedRequest(ended, call);
  return record.status === "FAILED" ? { ...record, detail: record } : record;
}

async function stream(
  ctx: Context,
  input: InputOf<typeof rows.stream>,
  call: Call,
): Promise<Reply> {
  if (input.log_path !== null)
    fail("NotSupportedError", "log_path is not served; name a request, or read the log of control");
  const newest = { userId: ownerOf(call), limit: 1 };
  const asked = input.request_id ?? (await store.listRequests(ctx.db, newest))[0]?.id;
  if (asked === undefined) fail("NotFoundError", "there are no requests yet");
  const request = await getRequest(ctx, await resolveId(ctx, asked, call));
  const { tail, follow, format } = input;
  const text = streamOf(ctx, request, { tail: tail ?? 0, follow, format }, call.signal);
  return { headers: streamIdHeaders(asked), body: Readable.from(text) };
}

/** A page of requests, newest first; `after` leads from one page to the next. */
async function status(ctx: Context, input: InputOf<typeof rows.status>, call: Call) {
  const { request_ids: prefixes, after, fields } = input;
  const limit = input.limit ?? listedAtMost;
  const before =
    after === null ? undefined : await getRequest(ctx, await resolveId(ctx, after, call));
  const owner = ownerOf(call);
  const found = await (prefixes
    ? findAll(ctx, prefixes, owner)
    : listAll(ctx, input, before, limit, owner));
  return found
    .filter(({ user }) => owner === undefined || user.id === owner)
    .filter((one) => before === undefined || byAge(before, one) < 0)
    .sort(byAge)
    .slice(0, limit)
    .map((one) => listedRequest(one, fields));
}

/** The newest first. */
const byAge = (a: StoredRequest, b: StoredRequest): number =>
  b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);

/** Those whose ids begin with any of these texts. */
async function findAll(
  ctx: Context,
  prefixes: readonly string[],
  owner: string | undefined,
): Promise<StoredRequest[]> {
  const ids = await mapInBatches(prefixes, (prefix) => store.findIds(ctx.db, prefix, 100, owner));
  const chosen = [...new Set(ids.flat())].slice(0, listedAtMost);
  const reads = ctx.reads.list().filter(({ id }) => prefixes.some((one) => id.startsWith(one)));
  return [...(await store.listByIds(ctx.db, chosen)), ...reads];
}

async function listAll(
  ctx: Context,
  { all_status: all, cluster_name: clusterName }: InputOf<typeof rows.status>,
  before: StoredRequest | undefined,
  limit: number,
  owner: string | undefined,
): Promise<StoredRequest[]> {
  const about = { userId: owner, clusterName: clusterName ?? undefined };
  const filter = { ...about, unendedOnly: !all, before, limit };
  const reads = ctx.reads
    .list()
    .filter((one) => all || !hasEnded(one))
    .filter((one) => clusterName === null || one.clusterName === clusterName);
  return [...(await store.listRequests(ctx.db, filter)), ...reads];
}

/** Callers who are not logged in get the status alone. */
async function health({ config }: Context, _input: unknown, call: Call) {
  const isKnown = call.user.id !== "";
  if (!isKnown && call.clientApi === null) return { status: "healthy" as const };
  return {
    status: isKnown ? ("healthy" as const) : ("needs_auth" as const),
    api_version: String(protocol.apiVersion),
    version: protocol.version,
    version_on_disk: protocol.version,
    release: product.version,
    commit: findCommit() ?? "",
    basic_auth_enabled: config.login.includes("password"),
    service_account_token_enabled: true,
    user: isKnown && config.login.length > 0 ? { ...call.user } : null,
    restrict_config_to_admins: true,
  };
}
