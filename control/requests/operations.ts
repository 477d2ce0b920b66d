import { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { requestOperations as rows } from "../../contract/operations/requests.ts";
import type { RequestPayload } from "../../contract/records/requests.ts";
import { type Bound, bind, type Call, type Reply } from "../bind.ts";
import { listLiveNames } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { inTurns } from "../in-turns.ts";
import { streamIdHeaders } from "../wire/versions.ts";
import { cancel } from "./cancel.ts";
import { getRequest, resolveId } from "./find.ts";
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
  const asked = input.request_id ?? (await store.findIds(ctx.db, "", 1))[0];
  if (asked === undefined) fail("NotFoundError", "there is no request yet");
  const request = await getRequest(ctx, await resolveId(ctx, asked));
  const { tail, follow, format } = input;
  const text = streamOf(ctx, request, { tail: tail ?? 0, follow, format }, call.signal);
  return { headers: streamIdHeaders(asked), body: Readable.from(text) };
}

async function status(ctx: Context, input: InputOf<typeof rows.status>) {
  const { request_ids: prefixes, all_status: all, limit, cluster_name: clusterName } = input;
  const found = prefixes && (await inTurns(prefixes, (id) => store.findIds(ctx.db, id, 100)));
  const stored = await store.listRequests(ctx.db, {
    ...(found && { ids: [...new Set(found.flat())].slice(0, listedAtMost) }),
    ...(!found && !all && { unendedOnly: true }),
    ...(!found && clusterName !== null && { clusterName }),
    ...(!found && { limit: limit ?? listedAtMost }),
  });
  const isAsked = (one: StoredRequest) =>
    prefixes?.some((prefix) => one.id.startsWith(prefix)) ??
    ((all || !hasEnded(one)) && (clusterName === null || one.clusterName === clusterName));
  const requests = [...stored, ...ctx.reads.list().filter(isAsked)];
  return requests
    .sort((a, b) => b.createdAt - a.createdAt)
    .slice(0, limit ?? listedAtMost)
    .map(toListed);
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
