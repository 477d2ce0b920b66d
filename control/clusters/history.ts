import { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";
import { noMore, readGrowing, sizeOf, untilMore } from "../../common/growing-file.ts";
import type { InputOf } from "../../common/operation.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { seesWorkspace } from "../access/identity.ts";
import type { Call, Reply } from "../bind.ts";
import { type EventKind, listEvents } from "../events.ts";
import type { Ground } from "../ground.ts";
import { listUnendedOf } from "../requests/store.ts";
import { seconds } from "../wire/fields.ts";
import { neutralise } from "../wire/neutralise.ts";
import { findPast, neverWas } from "./find.ts";
import { listSince } from "./list-store.ts";
import { provisionLogOf } from "./provision-log.ts";
import { type Cluster, clusterKey } from "./schema.ts";
import { findCluster } from "./store.ts";
import { listUsage } from "./usage-store.ts";
import { toCostRecord } from "./view.ts";

const dayMs = 86_400_000;
const eventsAtMost = 10_000;
const eventKinds = {
  STATUS_CHANGE: "moves",
  DEBUG: "remarks",
  TERMINAL: "ends",
  NOTEWORTHY: "noteworthy",
} as const satisfies Record<string, EventKind>;

/** What live clusters and those of the last days cost, newest launch first. */
export async function costReport(ctx: Ground, input: InputOf<typeof rows.costReport>, call: Call) {
  const { days, cluster_hashes: hashes, dashboard_summary_response: summary } = input;
  const { exclude_managed_clusters: excludesManaged } = input;
  const now = ctx.now();
  const all = await listSince(ctx.db, now.getTime() - (days ?? 30) * dayMs, !summary);
  const clusters = all
    .filter(({ workspace }) => seesWorkspace(call, workspace))
    .filter(({ id }) => hashes === null || hashes.includes(id))
    .filter(({ madeFor }) => !excludesManaged || madeFor === null);
  const usage = await listUsage(
    ctx.db,
    clusters.map(({ id }) => id),
  );
  return clusters.map((cluster) =>
    toCostRecord(cluster, usage.get(cluster.id) ?? [], now, summary),
  );
}

/** What happened to a cluster, oldest first. */
export async function clusterEvents(
  ctx: Ground,
  input: InputOf<typeof rows.clusterEvents>,
  call: Call,
) {
  const { cluster_name: name, cluster_hash: id, event_type: type } = input;
  if ((name === null) === (id === null))
    fail("ValueError", "give exactly one of cluster_name and cluster_hash");
  const kinds = type.split(",").map(kindOf);
  const cluster =
    id === null ? await findPast(ctx, name ?? "", call) : await findCluster(ctx.db, id);
  if (cluster === undefined || !seesWorkspace(call, cluster.workspace))
    fail("ValueError", await neverWas(ctx, name ?? id ?? "", call));
  const limit = Math.min(input.limit ?? eventsAtMost, eventsAtMost);
  const events = await listEvents(ctx.db, "cluster", cluster.id, { kinds, limit });
  const texts = events.map(({ from, to, reason, at }) => ({
    reason: to === null ? reason : `${from} → ${to}: ${reason}`,
    transitioned_at: seconds(at.getTime()),
  }));
  return input.include_timestamps ? texts : texts.map(({ reason }) => reason);
}

function kindOf(type: string): EventKind {
  if (Object.hasOwn(eventKinds, type)) return eventKinds[type as keyof typeof eventKinds];
  const known = Object.keys(eventKinds).join(", ");
  return fail("ValueError", `event_type must be one or more of ${known}, separated by commas`);
}

/** How a cluster came to be, until it is; also of one that is gone. */
export async function provisionLogs(
  ctx: Ground,
  input: InputOf<typeof rows.provisionLogs>,
  call: Call,
): Promise<Reply> {
  const { cluster_name: name, worker, follow, tail } = input;
  const cluster = await findPast(ctx, name, call);
  if (cluster === undefined) return fail("NotFoundError", await neverWas(ctx, name, call));
  const file = provisionLogOf(ctx, cluster.id);
  if ((await sizeOf(file)) === 0) fail("NotFoundError", `cluster ${name} has no provisioning log`);
  if (worker !== null && (worker < 0 || worker >= cluster.nodes))
    fail("ValueError", `cluster ${name} has nodes 0 to ${cluster.nodes - 1}, not ${worker}`);
  const isOver = () => isProvisioned(ctx, cluster);
  const more = untilMore(ctx.changes, clusterKey(cluster.id), isOver, call.signal);
  const text = neutralise(readGrowing(file, tail, follow ? more : noMore));
  return { body: Readable.from(worker === null ? text : linesAbout(worker, text)) };
}

/** Whether it came to be, or nobody waits for that any more. */
async function isProvisioned(ctx: Ground, { id }: Cluster): Promise<boolean> {
  const cluster = await findCluster(ctx.db, id);
  if (cluster?.status !== "INIT") return true;
  if (cluster.problem === null) return false;
  return (await listUnendedOf(ctx.db, cluster.name, { limit: 1 })).length === 0;
}

/** Every line of a provisioning log that speaks of one node names it first. */
async function* linesAbout(rank: number, chunks: AsyncGenerator<Buffer>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    const about = lines.filter((line) => line.startsWith(`node ${rank} `));
    if (about.length > 0) yield `${about.join("\n")}\n`;
  }
}
