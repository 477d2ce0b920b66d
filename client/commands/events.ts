import { AppError, fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { Column } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerRows, type OutputOptions } from "./answers.ts";

interface EventsOptions extends OutputOptions {
  readonly limit?: number;
  readonly debug?: boolean;
}

interface EventRow {
  readonly reason: string;
  readonly transitioned_at: number;
}

const columns: readonly Column<EventRow>[] = [
  { title: "WHEN", text: ({ transitioned_at: at }) => localTime(at), style: () => "dim" },
  { title: "WHAT", text: ({ reason }) => reason, least: 12, wraps: true },
];

/** `outrigger events`. */
export async function events(
  world: World,
  [cluster]: readonly string[],
  options: EventsOptions,
): Promise<undefined> {
  if (cluster === undefined) fail("UsageError", "name the cluster: outrigger events CLUSTER");
  const { limit, debug = false } = options;
  const types = debug ? (["DEBUG", "STATUS_CHANGE"] as const) : (["NOTEWORTHY"] as const);
  const found = await Promise.all(types.map((type) => listEvents(world, cluster, type, limit)));
  const all = found.flat().toSorted((a, b) => a.transitioned_at - b.transitioned_at);
  const rows = limit === undefined ? all : all.slice(-limit);
  answerRows(world, options, { rows, columns, empty: `Nothing happened to ${cluster} yet.` });
}

async function listEvents(
  world: World,
  cluster: string,
  event_type: "STATUS_CHANGE" | "DEBUG" | "NOTEWORTHY",
  limit: number | undefined,
): Promise<EventRow[]> {
  const client = await world.connect();
  const how = { include_timestamps: true, limit: limit ?? null };
  const input = { cluster_name: cluster, event_type, ...how };
  const found = await client
    .callAndGet(clusterOperations.clusterEvents, input)
    .catch((error: unknown) => {
      // Of what we send nothing but the name can be wrong.
      if (!(error instanceof AppError) || error.type !== "ValueError") throw error;
      throw new AppError("ClusterDoesNotExist", error.message, {}, error);
    });
  return found.filter((event): event is EventRow => typeof event === "object");
}

/** `2026-11-20 20:16:03`, in the reader's own time zone. */
const localTime = (seconds: number) => new Date(seconds * 1_000).toLocaleString("sv-SE");
