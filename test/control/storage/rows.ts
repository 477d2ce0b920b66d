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

/** Uploads files; the input of a launch whose task names a bucket for them. */
export async function withFiles(
  { ctx }: World,
  files: Record<string, string>,
  storage: object,
  secrets: Readonly<Record<string, string>> = {},
) {
  const blobId = idOf(files);
  const bytes = await zipOf(files);
  const chunk = { uploadId: blobId, index: 0, total: 1 };
  await ctx.uploads.take("local", blobId, chunk, Readable.from([bytes]));
  const task = {
    file_mounts: { "~/set": { name: "my-set", mode: "COPY", ...storage } },
    secrets,
    file_mounts_mapping: { "/d": "/d", "/e/f": "/e/f" },
    run: "x",
  };
  return { task: JSON.stringify(task), file_mounts_blob_id: blobId };
}

/** Launches such a task. */
export async function launch(
  world: World,
  files: Record<string, string>,
  storage: object,
  secrets?: Readonly<Record<string, string>>,
): Promise<void> {
  const input = await withFiles(world, files, storage, secrets);
  await world.run(clusters.launch, { cluster_name: "c", ...input });
}
