import { count } from "../../common/count.ts";
import { fail } from "../../common/errors.ts";
import { requestOperations } from "../../contract/operations/requests.ts";
import type { Command } from "../catalog.ts";
import { openLogSink } from "../log-lines.ts";
import { type RequestRow, requestForm, requestName } from "../output/control.ts";
import { ago, type Column, styleOfStatus } from "../rendering.ts";
import { agree } from "../selection.ts";
import type { World } from "../world.ts";
import { answerRows } from "./answers.ts";
import { carryOut } from "./carry-out.ts";
import { shortId } from "./detached.ts";

const usualLimit = 50;

/** `outrigger api status`. */
export const status: Command<"api status"> = async (world, ids, options) => {
  const rows = await listRequests(world, {
    request_ids: ids.length > 0 ? ids : undefined,
    all_status: options.allStatus ?? false,
    limit: options.limit ?? usualLimit,
    cluster_name: options.cluster,
  });
  requireEach(ids, rows);
  answerRows(world, options, {
    form: requestForm,
    rows,
    columns: columnsOf(world.now()),
    empty: "No waiting or running requests; --all-status also lists those that have ended.",
  });
};

const listRequests = async (world: World, query: Record<string, unknown>): Promise<RequestRow[]> =>
  (await world.connect()).read("/api/status", query);

function requireEach(ids: readonly string[], rows: readonly RequestRow[]): void {
  const missing = ids.filter((id) => !rows.some((row) => row.request_id.startsWith(id)));
  if (missing.length > 0)
    fail("NotFoundError", `no request id begins with ${missing.join(" or ")}`);
}

function columnsOf(now: Date): Column<RequestRow>[] {
  return [
    { title: "ID", text: (row) => shortId(row.request_id) },
    { title: "NAME", text: (row) => requestName(row) },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    { title: "CLUSTER", text: (row) => row.cluster_name ?? "-", least: 12 },
    { title: "CREATED", text: (row) => ago(row.created_at, now), spare: true },
    { title: "USER", text: (row) => row.user_name ?? "-", least: 8, spare: true },
  ];
}

/** `outrigger api logs`. */
export const logs: Command<"api logs"> = async (world, [id], { follow = true, tail, grep }) => {
  const client = await world.connect();
  const wanted = id ?? (await newestId(world));
  const sink = openLogSink(world, { ...(grep && { grep }), of: { request_id: wanted } });
  await client.stream(wanted, sink, { follow, ...(tail && { tail }) }).finally(sink.end);
  if (follow) await client.get(wanted);
};

async function newestId(world: World): Promise<string> {
  const [newest] = await listRequests(world, { all_status: true, limit: 1 });
  return newest?.request_id ?? fail("NotFoundError", "there are no requests yet");
}

/** `outrigger api cancel`. */
export const cancel: Command<"api cancel"> = async (
  world,
  ids,
  { all = false, yes = false, async: later },
) => {
  if (ids.length === 0 && !all)
    fail("UsageError", "pass the ids of the requests to cancel, or --all");
  const what = all ? "all of your requests" : ids.join(", ");
  if (!yes) {
    if (!all) requireEach(ids, await listRequests(world, { request_ids: ids, all_status: true }));
    await agree(world, `Cancel ${what}?`, { sweeping: all });
  }
  const input = all ? await ownRequests(world) : { request_ids: [...ids], user_id: null };
  const more = { title: `Cancelling ${what}`, later };
  const done = await carryOut(world, requestOperations.cancel, input, more);
  if (done !== undefined) world.terminal.note(`${count(done.length, "request")} cancelled.`);
};

/** All of the caller's; users other than administrators have none but theirs. */
async function ownRequests(world: World) {
  const { user } = await (await world.connect()).health();
  return { request_ids: null, user_id: user?.id ?? null };
}
