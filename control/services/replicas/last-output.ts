import type { Cluster } from "../../clusters/schema.ts";
import type { Context } from "../../context.ts";
import { excerptOf } from "../../output-excerpt.ts";
import { withoutKeys } from "../keys.ts";
import type { Replica } from "../schema.ts";
import { openVersion } from "../versions/task.ts";
import { lastLines } from "./log.ts";
import { setReplica } from "./store.ts";
import { strayPorts, withStray } from "./stray-ports.ts";

const shownLines = 10;
const before = "; it printed last:\n";

/** The last lines that a replica printed, as others may see them; empty where there are none. */
export async function lastWords(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<string> {
  // Where nobody knows any more what is a key, nothing is shown.
  const open = await openVersion(ctx, replica).catch(() => undefined);
  if (open === undefined) return "";
  return excerptOf(withoutKeys(await lastLines(ctx, cluster, replica, shownLines, signal), open));
}

/** Why a replica failed, with its last words, once. */
export const withWords = (reason: string, words: string): string =>
  words === "" || reason.includes(before) ? reason : `${reason}${before}${words}`;

/** Adds to why its probe gave a replica up where it listens instead and its last words, while its node is there. */
export async function noteLastWords(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<void> {
  if (replica.reason.includes(before)) return;
  const stray = await strayPorts(ctx, cluster, replica, signal);
  const words = await lastWords(ctx, cluster, replica, signal);
  const reason = withWords(withStray(replica.reason, stray), words);
  if (reason !== replica.reason) await ctx.batch((tx) => setReplica(tx, replica.id, { reason }));
}
