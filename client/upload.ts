import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { count } from "../common/count.ts";
import { fail } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { uploadOperations } from "../contract/operations/uploads.ts";
import { bytesText } from "../contract/sizes.ts";
import { fillTemplate } from "../contract/task/substitution.ts";
import { readTask, type Task } from "../contract/task.ts";
import { openDigests } from "./digests.ts";
import { isLocal } from "./endpoint.ts";
import { gather, lookOf, type ReadItem, readItems } from "./gather.ts";
import type { Scope } from "./missing-files.ts";
import { packedId, packInto } from "./pack.ts";
import { openProgress } from "./progress.ts";
import type { Client } from "./sdk.ts";
import { sendChunks } from "./send-chunks.ts";
import { isLocalPath, withUploadedPaths } from "./task-text.ts";
import type { World } from "./world.ts";

/** A task whose files control has, as a launch or exec carries it. */
export interface SentTask {
  readonly task: string;
  readonly file_mounts_blob_id: string | null;
}

/** Sends the local files that a task names, unless control has them already. */
export async function sendFiles(world: World, text: string, scope: Scope): Promise<SentTask> {
  const reading = readTask(text);
  // What is wrong with the task is for control to say.
  const roots = reading.ok ? reading.document.tasks.flatMap((task) => rootsOf(task, scope)) : [];
  if (roots.length === 0) return { task: text, file_mounts_blob_id: null };
  return {
    task: withUploadedPaths(text, roots),
    file_mounts_blob_id: await sendRoots(world, roots),
  };
}

/** Files that look as they did are not read, unless control has lost them. */
async function sendRoots(world: World, roots: readonly string[]): Promise<string> {
  const digests = openDigests(join(world.settings.home, "cache", "digests"), roots);
  const items = await gather(roots);
  const client = await world.connect();
  const isThere = async (blob_id: string) =>
    (await client.call(uploadOperations.hasBlob, { user_hash: "self", blob_id })).exists;
  const look = lookOf(items);
  const known = digests.findBlob(look);
  if (known !== undefined && (await isThere(known))) return known;
  const read = await readItems(items, digests);
  const blobId = packedId(read);
  digests.save(look, blobId);
  if (blobId === known || !(await isThere(blobId)))
    await upload(world, client, { blobId, items: read });
  return blobId;
}

function rootsOf(task: Task, scope: Scope): string[] {
  const { workdir, fileMounts } = task;
  const mounts = scope === "workdir" ? [] : Object.values(fileMounts);
  const roots = [
    ...(workdir?.kind === "folder" ? [workdir.path] : []),
    ...mounts.flatMap((mount) => {
      if (mount.kind === "path") return [mount.source];
      return mount.kind === "storage" ? mount.storage.sources.filter(isLocalPath) : [];
    }),
    ...(scope === "service" ? certificateOf(task) : []),
  ];
  if (roots.includes("/"))
    fail("ValueError", "the whole file system cannot be uploaded; name a folder");
  return [...new Set(roots)];
}

function certificateOf({ service, secrets }: Task): string[] {
  if (service?.tls === undefined) return [];
  const { keyFile, certFile } = fillTemplate(service.tls, secrets);
  return [keyFile, certFile];
}

interface Parcel {
  readonly blobId: string;
  readonly items: readonly ReadItem[];
}

async function upload(world: World, client: Client, parcel: Parcel): Promise<void> {
  const { items } = parcel;
  const files = items.filter(({ kind }) => kind === "file").length;
  const bytes = items.reduce((sum, item) => sum + (item.kind === "file" ? item.size : 0), 0);
  const title = `Sending ${count(files, "file")}, ${bytesText(bytes)}`;
  const folder = await mkdtemp(join(tmpdir(), `${product.word}-`));
  const progress = openProgress(world.terminal);
  progress.step(title);
  try {
    const archive = join(folder, "files.zip");
    await packInto(archive, items, { compress: !isLocal(world.settings.endpoint) });
    const tell = (part: number) => progress.reword(`${title}: ${Math.round(100 * part)} %`);
    await sendChunks(client, { archive, blobId: parcel.blobId }, tell, world.signal);
    progress.end("done");
  } catch (error) {
    progress.end(world.signal.aborted ? "left" : "failed");
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
