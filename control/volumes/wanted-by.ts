import { readTask } from "../../contract/task.ts";
import type { Context } from "../context.ts";
import { listUnsettledDocuments } from "../jobs/list-store.ts";
import { wordsOf } from "../services/schema.ts";
import { listLiveServices, listVersions, readVersionTask } from "../services/store.ts";
import { namesIn } from "./place.ts";

type Shelf = Pick<Context, "db" | "seal">;

/**
 * The managed jobs, services and pools that attach a volume whenever they have a cluster, also while they have none:
 * `managed job 7 (train)`, `service web`.
 */
export async function listWanting(ctx: Shelf, volume: string): Promise<string[]> {
  const jobs = (await listUnsettledDocuments(ctx.db, ctx.seal))
    .filter(({ yaml }) => names(yaml, volume))
    .map(({ id, name }) => `managed job ${id} (${name})`);
  const services: string[] = [];
  for (const service of await listLiveServices(ctx.db))
    if ((await textsOf(ctx, service.id)).some((yaml) => names(yaml, volume)))
      services.push(`${wordsOf(service).noun} ${service.name}`);
  return [...jobs, ...services];
}

/** The tasks that replicas of a service may have from now on: of its newest version, and of the one to fall back to. */
async function textsOf({ db, seal }: Shelf, serviceId: string): Promise<string[]> {
  const versions = (await listVersions(db, serviceId)).filter(({ givenUp }) => givenUp === null);
  const ready = versions.findLastIndex(({ readyAt }) => readyAt !== null);
  return Promise.all(
    versions
      .slice(Math.max(ready, 0))
      .map(async (version) => (await readVersionTask(db, seal, version)).yaml),
  );
}

function names(yaml: string, volume: string): boolean {
  if (!yaml.includes(volume)) return false;
  const reading = readTask(yaml);
  return reading.ok && reading.document.tasks.some((task) => namesIn(task).includes(volume));
}
