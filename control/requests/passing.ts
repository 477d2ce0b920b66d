import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Context } from "../context.ts";
import type { StoredRequest } from "./schema.ts";
import { listEndedBetween } from "./store.ts";

/** Requests whose text is a copy of what lies elsewhere: it is kept only until its client has it. */

const names: readonly string[] = [rows.hookLogs.name, rows.autostopLogs.name];
const keepMs = 2 * 60_000;
/** How far back texts are looked for; what a crash leaves goes with its request. */
const lookBackMs = 15 * 60_000;

/** Whether the text of a request is dropped soon after its end. */
export const isPassing = ({ name }: Pick<StoredRequest, "name">): boolean => names.includes(name);

/** Whether a request's text was there and is not any more. */
export const isDropped = (request: StoredRequest, now: Date): boolean =>
  isPassing(request) && request.finishedAt !== null && request.finishedAt <= now.getTime() - keepMs;

/** What stands where a text was. */
export const droppedLine =
  "the output of this request was kept for two minutes only; send the request again\n";

/** Drops texts whose clients have had the time to read them. */
export async function dropPassing(ctx: Context): Promise<void> {
  const until = ctx.now().getTime() - keepMs;
  const ids = await listEndedBetween(ctx.db, names, until - lookBackMs, until);
  await Promise.all(ids.map((id) => ctx.requestLogs.remove(id)));
}
