import { Readable } from "node:stream";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import type { Storage } from "../../../control/storage/schema.ts";
import type { World } from "../../helpers/world.ts";
import { idOf, zipOf } from "../uploads/zips.ts";

/** A storage with defaults for all that a test does not care about. */
export const aStorage = (given: Partial<Storage> = {}): Storage => ({
  name: "set",
  id: "set-1",
  workspace: "default",
  user: { id: "u1", name: "ana" },
  status: "READY",
  createdAt: 0,
  lastUse: "",
  ...given,
});

/** Uploads files and launches a task that names a bucket for them. */
export async function launch(
  world: World,
  files: Record<string, string>,
  storage: object,
  secrets: Readonly<Record<string, string>> = {},
): Promise<void> {
  const blobId = idOf(files);
  const bytes = await zipOf(files);
  const chunk = { uploadId: blobId, index: 0, total: 1 };
  await world.ctx.uploads.take("local", blobId, chunk, Readable.from([bytes]));
  const task = JSON.stringify({
    file_mounts: { "~/set": { name: "my-set", mode: "COPY", ...storage } },
    secrets,
    file_mounts_mapping: { "/d": "/d", "/e/f": "/e/f" },
  });
  await world.run(clusters.launch, { cluster_name: "c", task, file_mounts_blob_id: blobId });
}
