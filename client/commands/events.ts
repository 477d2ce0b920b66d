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
  { title: "WHAT", text: ({ reason }) => reason, least: 12 },
];

/** `outrigger events`. */
export async function events(
  world: World,
  [cluster = ""]: readonly string[],
  options: EventsOptions,
): Promise<undefined> {
  const client = await world.connect();
  const found = await client.callAndGet(clusterOperations.clusterEvents, {
    cluster_name: cluster,
    event_type: options.debug ? "DEBUG" : "STATUS_CHANGE",
    include_timestamps: true,
    limit: options.limit ?? null,
  });
  const rows = found.filter((event): event is EventRow => typeof event === "object");
  answerRows(world, options, { rows, columns, empty: `Nothing happened to ${cluster} yet.` });
}

/** `2026-11-20 20:16:03`, in the reader's own time zone. */
const localTime = (seconds: number) => new Date(seconds * 1_000).toLocaleString("sv-SE");
