import { type Loop, startLoop } from "../common/loop.ts";
import { collectAudit, collectRefusals } from "./audit/collect.ts";
import { collectClusters, collectDownloads, collectLifecycles } from "./clusters/collect.ts";
import type { Context } from "./context.ts";
import { copyIfDue } from "./db/copies.ts";
import { keepReserve } from "./db/reserve.ts";
import { databaseOf } from "./home.ts";
import { collectJobs } from "./jobs/collect.ts";
import { collectRepositories } from "./repositories/collect.ts";
import { collectReads, collectRequests } from "./requests/collect.ts";
import { dropPassing } from "./requests/passing.ts";
import { collectServices } from "./services/collect.ts";
import { collectSessions } from "./sessions/collect.ts";
import { collectStorages } from "./storage/collect.ts";
import { collectUploads } from "./uploads/collect.ts";

const everyMs = 10 * 60_000;
const collectors: readonly ((ctx: Context, signal?: AbortSignal) => Promise<void>)[] = [
  collectReads,
  dropPassing,
  collectRequests,
  collectClusters,
  collectLifecycles,
  collectDownloads,
  collectUploads,
  collectStorages,
  collectRepositories,
  collectServices,
  collectJobs,
  collectRefusals,
  collectAudit,
  collectSessions,
  copyDatabase,
  async ({ config }) => keepReserve(databaseOf(config.home)),
];

async function copyDatabase({ config, log, now }: Context, signal?: AbortSignal): Promise<void> {
  if (await copyIfDue(databaseOf(config.home), now(), signal)) log.info("database copied");
}

/** Forgets, every so often, what was kept for long enough. */
export function startCollector(ctx: Context): Loop {
  return startLoop(
    everyMs,
    (signal) => collect(ctx, signal),
    (error) => ctx.log.warn({ err: error }, "old data not deleted"),
  );
}

/** One round of it; where one of them fails the others still make room. */
export async function collect(ctx: Context, signal?: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const one of collectors) await one(ctx, signal).catch((error) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, "some old data was not deleted");
}
