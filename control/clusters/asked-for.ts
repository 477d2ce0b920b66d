import type { HookEvent } from "../../contract/hooks.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Connection } from "../db/open.ts";
import { listRequests } from "../requests/store.ts";

/** Whose hooks run for what requests ask for, by their names. */
const eventOf: ReadonlyMap<string, HookEvent> = new Map([
  [rows.stop.name, "stop"],
  [rows.down.name, "down"],
]);

/** Ids of requests under way that want a cluster stopped or taken down. */
export async function listAskedFor(
  db: Connection,
  clusterName: string,
  events: readonly HookEvent[] = ["stop", "down"],
): Promise<string[]> {
  const requests = await listRequests(db, { clusterName, unendedOnly: true });
  return requests
    .filter(({ name }) => events.some((event) => event === eventOf.get(name)))
    .map(({ id }) => id);
}
