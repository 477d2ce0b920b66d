import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { ClusterStatusRecord } from "../../contract/records/clusters.ts";
import { covers } from "../../contract/roles.ts";
import { expandPorts } from "../../contract/task/ports.ts";
import { ownerShown } from "../access/identity.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { inPages } from "../db/lists.ts";
import { isPattern, namesThatFit } from "../glob.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import { getRunning } from "./find.ts";
import { listLastReasons } from "./history-store.ts";
import { openHookView } from "./hooks/view.ts";
import { listGoingOn } from "./lifecycles/store.ts";
import { listLive, listLiveNames } from "./list-store.ts";
import { pendingOf } from "./managed.ts";
import { isChanging, type ListedCluster } from "./schema.ts";
import { sshCredentials } from "./ssh-door/keys.ts";
import { isRunning, toStatusRecord } from "./view.ts";

type Input = InputOf<typeof rows.status>;

/** A node may be slow to answer; then what was known before is told. */
const longestLookMs = 30_000;

/** Live clusters, newest launch first; asked of the provider first where the caller says so. */
export async function status(ctx: Context, input: Input, call: Call) {
  const chosen = await choose(ctx, input, call);
  const stale = chosen.filter((cluster) => wantsRefresh(cluster, input.refresh));
  if (stale.length > 0) await call.aside(lookAt(ctx, stale, call.signal));
  const clusters = stale.length > 0 ? await choose(ctx, input, call) : chosen;
  // They open a shell, which viewers may not.
  const mayEnter = input.include_credentials && covers(call.role, "user");
  const hasDoor = mayEnter && clusters.some(isRunning);
  const credentials = hasDoor ? await sshCredentials(ctx) : undefined;
  const records: ClusterStatusRecord[] = [];
  for await (const page of inPages(clusters))
    records.push(...(await toRecords(ctx, page, input, credentials)));
  return records;
}

/** Those that a caller asks for; a name is looked up, a pattern is tried on every name. */
async function choose(ctx: Ground, input: Input, call: Call): Promise<ListedCluster[]> {
  const { cluster_names: globs, all_users: allUsers, summary_response: summary } = input;
  const filter = {
    names: globs === null ? undefined : await namesOf(ctx, globs, call),
    userId: ownerShown(call, allUsers),
    workspaces: call.workspaces,
    // What others look after is shown to whom asks for it by name.
    ofUsersOnly: globs === null,
  };
  return listLive(ctx.db, filter, !summary);
}

async function namesOf(
  { db }: Ground,
  globs: readonly string[],
  { workspaces }: Call,
): Promise<string[]> {
  const patterns = globs.filter(isPattern);
  const exact = globs.filter((glob) => !isPattern(glob));
  if (patterns.length === 0) return exact;
  const all = await listLiveNames(db, "", Number.MAX_SAFE_INTEGER, workspaces);
  return [...new Set([...exact, ...(await namesThatFit(patterns, all))])];
}

async function toRecords(
  ctx: Context,
  clusters: ListedCluster[],
  { summary_response: summary, include_handle: handle }: Input,
  credentials: ClusterStatusRecord["credentials"],
): Promise<ClusterStatusRecord[]> {
  const ids = clusters.map(({ id }) => id);
  const reasons = summary ? new Map<string, string>() : await listLastReasons(ctx.db, ids);
  const waiting = clusters.filter(({ status }) => status === "INIT");
  const pending = new Map(
    await Promise.all(waiting.map(async (one) => [one.id, await pendingOf(ctx, one)] as const)),
  );
  const lifecycles = await listGoingOn(ctx.db, ids, ctx.steadyNow());
  const hooksOf = await openHookView(ctx, clusters);
  return clusters.map((cluster) =>
    toStatusRecord(cluster, {
      credentials,
      summary,
      handle,
      lastEvent: reasons.get(cluster.id),
      pending: pending.get(cluster.id),
      idle: ctx.watches.idleOf(cluster.id),
      lifecycles: lifecycles.get(cluster.id) ?? [],
      hooks: hooksOf(cluster),
    }),
  );
}

/** One that is changing is looked at all the time; its pass ends with the change. */
const wantsRefresh = (cluster: ListedCluster, refresh: Input["refresh"]): boolean =>
  !isChanging(cluster) &&
  (refresh === "FORCE" || (refresh === "AUTO" && cluster.autostop !== null));

async function lookAt(ctx: Context, clusters: ListedCluster[], signal: AbortSignal): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, longestLookMs);
  const looks = clusters.map(({ id }) => nudge(ctx, "cluster", id, signal));
  await Promise.race([Promise.all(looks), late]).finally(() => clearTimeout(timer));
}

/** Where the ports of a cluster are reached, by port. */
export async function endpoints(ctx: Context, input: InputOf<typeof rows.endpoints>, call: Call) {
  const cluster = await getRunning(ctx, input.cluster);
  const open = expandPorts(cluster.ports);
  // Existing clients say nothing of an empty answer.
  if (open.length === 0 && input.port === null)
    call.print(
      `cluster ${cluster.name} exposes no port; name ports in the task and launch again\n`,
    );
  const asked = input.port === null ? open : [toPort(input.port)];
  const missing = asked.find((port) => !open.includes(port));
  if (missing !== undefined)
    fail(
      "ValueError",
      `cluster ${cluster.name} does not expose port ${missing}; it exposes ${open.join(", ") || "none"}`,
    );
  const provider = ctx.provider(cluster.provider);
  const [head] = await provider.list(cluster, call.signal);
  if (head === undefined) fail("ClusterNotUpError", `cluster ${cluster.name} has no head`);
  const entryOf = async (port: number) => [String(port), await provider.endpoint(head, port)];
  return Object.fromEntries(await Promise.all(asked.map(entryOf)));
}

function toPort(text: number | string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  return fail("ValueError", `${JSON.stringify(text)} is not a port`);
}
