import { fail } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import type { Content, Entry } from "../../../contract/files-api.ts";
import type { FileMount } from "../../../contract/task/file-mounts.ts";
import type { Task } from "../../../contract/task.ts";
import type { Call } from "../../bind.ts";
import { keysAmong } from "../../buckets/stores.ts";
import type { Context } from "../../context.ts";
import { secretsOf } from "../../task.ts";
import { pathInUpload } from "../../wire/upload-place.ts";
import { openAddress } from "./fetched.ts";
import type { Cargo, FetchedParcel, Parcel, UploadedParcel } from "./parcels.ts";

interface Upload {
  readonly file_mounts_blob_id?: string | null | undefined;
}

/** Which of a task's files go along: a job on a cluster that is there brings its working folder alone. */
export type Scope = "all" | "workdir";

/** Throws for files of a task that its client did not send. */
export function checkFiles(task: Task, scope: Scope): void {
  filesOf(task, scope);
}

/** The files of a task as its client sent them, or as they now are in buckets. Throws `NotFoundError` when they are gone. */
export async function readCargo(
  ctx: Context,
  task: Task,
  { file_mounts_blob_id: blobId = null }: Upload,
  scope: Scope,
  call: Call,
): Promise<Cargo[]> {
  const { uploaded, fetched } = filesOf(task, scope);
  const userId = call.user.id;
  const kept = blobId ?? (uploaded.length > 0 ? await ctx.uploads.keepMerged(userId) : undefined);
  const sent = uploaded.map((file): UploadedParcel => {
    if (kept === undefined) return gone();
    return { ...file, userId, blobId: kept };
  });
  return Promise.all([...sent, ...fetched].map((parcel) => readParcel(ctx, parcel, call.signal)));
}

/** What is in a parcel. Throws `NotFoundError` when its upload or bucket is gone. */
export async function readParcel(
  ctx: Context,
  parcel: Parcel,
  signal: AbortSignal,
): Promise<Cargo> {
  if ("uri" in parcel) return { parcel, open: await openAddress(ctx, parcel, signal) };
  const { name, userId, blobId, place } = parcel;
  const files = (await ctx.uploads.read(userId, blobId)) ?? gone();
  const entries = entriesBelow(files, place);
  if (name === "workdir" && entries.some(({ kind, path }) => path === "" && kind !== "folder"))
    fail("ValueError", "workdir: it is not a folder; jobs start in it, so name the folder");
  const fileOf = ({ sha256 }: Content) => ctx.uploads.contentOf(userId, sha256);
  return { parcel, open: async () => ({ entries, contents: { by: "control", fileOf } }) };
}

const gone = (): never =>
  fail("NotFoundError", "the uploaded files of the task have been deleted; launch again");

/** Files that a task names: those of the caller, each with its place in the upload, and those at addresses. */
function filesOf(task: Task, scope: Scope) {
  const { workdir, fileMounts, uploadedPaths } = task;
  const uploaded: Omit<UploadedParcel, "userId" | "blobId">[] = [];
  const fetched: FetchedParcel[] = [];
  const variables = { ...task.envs, ...secretsOf(task) };
  const add = (name: string, destination: string, mount: FileMount) => {
    if (mount.kind === "path") {
      const place =
        uploadedPaths[mount.source] ??
        fail(
          "ValueError",
          `${name}: ${mount.source} was not uploaded; clients upload files before the request`,
        );
      uploaded.push({ name, destination, place });
      return;
    }
    const uri = mount.kind === "bucket" ? mount.uri : (mount.storage.sources[0] ?? "");
    const keys = keysAmong(uri, variables);
    fetched.push({ name, destination, uri, keys });
  };
  const home = `~/${product.word}_workdir`;
  if (workdir?.kind === "folder") add("workdir", home, { kind: "path", source: workdir.path });
  if (workdir?.kind === "bucket") add("workdir", home, workdir);
  if (scope === "all")
    for (const [name, mount] of Object.entries(fileMounts)) add(name, name, mount);
  return { uploaded, fetched };
}

/** What lies at and below a place of an upload, by paths from there; a folder where it is empty. */
function entriesBelow(files: readonly Entry[], place: string): Entry[] {
  const root = pathInUpload(place);
  const below = files.flatMap((entry): Entry[] => {
    if (entry.path === root) return [{ ...entry, path: "" }];
    if (!entry.path.startsWith(`${root}/`)) return [];
    return [{ ...entry, path: entry.path.slice(root.length + 1) }];
  });
  const isThere = below.some(({ path }) => path === "");
  return isThere ? below : [{ kind: "folder", path: "" }, ...below];
}
