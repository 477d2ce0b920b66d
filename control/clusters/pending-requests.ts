import type { HookEvent } from "../../contract/hooks.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Queries } from "../db/open.ts";
import { listUnendedOf } from "../requests/store.ts";

/** Whose hooks run for what requests ask for, by their names. */
const eventOf: ReadonlyMap<string, HookEvent> = new Map([
  [rows.stop.name, "stop"],
  [rows.down.name, "down"],
]);

/** Ids of requests under way that want a cluster stopped or taken down. */
export async function listPendingRequests(
  db: Queries,
  clusterName: string,
  events: readonly HookEvent[] = ["stop", "down"],
): Promise<string[]> {
  const names = [...eventOf].flatMap(([name, event]) => (events.includes(event) ? [name] : []));
  return listUnendedOf(db, clusterName, { names });
}
