import { listLiveBlobs } from "../clusters/list-store.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { listJobBlobs } from "../jobs/store.ts";
import { findWork, listUnended } from "../requests/work-store.ts";
import { listServiceBlobs } from "../services/store.ts";

/** Deletes uploads that no unended request, service, job or cluster needs and nobody used for a day. */
export async function collectUploads(ctx: Context): Promise<void> {
  await ctx.uploads.collect(await listBlobsInUse(ctx));
}

/** Clusters last: a request hands its blob to one before it ends. */
async function listBlobsInUse(ctx: Ground): Promise<Set<string>> {
  const inUse = new Set<string>();
  for await (const page of listUnended(ctx.db))
    for (const { id } of page) {
      const work = await findWork(ctx.db, id);
      if (!work?.input) continue;
      const blobId = JSON.parse(ctx.seal.open(work.input)).input?.file_mounts_blob_id;
      if (typeof blobId === "string") inUse.add(blobId);
    }
  for (const blobId of await listServiceBlobs(ctx.db, ctx.seal)) inUse.add(blobId);
  for (const blobId of await listJobBlobs(ctx.db)) inUse.add(blobId);
  for (const blobId of await listLiveBlobs(ctx.db, ctx.seal)) inUse.add(blobId);
  return inUse;
}
