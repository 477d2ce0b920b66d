import { fail } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import type { Entry } from "../../../contract/files-api.ts";
import type { Task } from "../../../contract/task.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { pathInUpload } from "../../wire/upload-place.ts";

/** Which of a user's uploaded files go to one place of the nodes of a cluster. */
export interface Parcel {
  /** `workdir`, or where it goes. */
  readonly name: string;
  readonly destination: string;
  readonly userId: string;
  readonly blobId: string;
  /** Where it lies in the upload. */
  readonly place: string;
}

/** A parcel and what is in it. */
export interface Cargo extends Parcel {
  readonly entries: readonly Entry[];
}

interface Upload {
  readonly file_mounts_blob_id?: string | null | undefined;
}

/** Which of a task's files go along: a job on a cluster that is there brings its working folder alone. */
export type Scope = "all" | "workdir";

/** Throws for files of a task that its client did not send. */
export function checkFiles(task: Task, scope: Scope): void {
  localFilesOf(task, scope);
}

/** The files of a task as its client sent them. Throws `NotFoundError` when they are gone again. */
export async function readCargo(
  ctx: Context,
  task: Task,
  { file_mounts_blob_id: blobId = null }: Upload,
  scope: Scope,
  call: Call,
): Promise<Cargo[]> {
  const wanted = localFilesOf(task, scope);
  if (wanted.length === 0) return [];
  const userId = call.user.id;
  const kept = blobId ?? (await ctx.uploads.keepMerged(userId));
  const files = kept === undefined ? undefined : await ctx.uploads.read(userId, kept);
  if (kept === undefined || files === undefined)
    fail("NotFoundError", "the uploaded files of the task have been deleted; launch again");
  return wanted.map(({ name, destination, place }) => {
    const entries = entriesBelow(files, place);
    if (name === "workdir" && entries.some(({ kind, path }) => path === "" && kind !== "folder"))
      fail("ValueError", "workdir: it is not a folder; jobs start in it, so name the folder");
    return { name, destination, userId, blobId: kept, place, entries };
  });
}

/** What is in a parcel that was kept. Throws `NotFoundError` when its upload is gone. */
export async function readParcel(ctx: Context, parcel: Parcel): Promise<Cargo> {
  const files =
    (await ctx.uploads.read(parcel.userId, parcel.blobId)) ??
    fail("NotFoundError", "its upload has been deleted; take the cluster down and launch again");
  return { ...parcel, entries: entriesBelow(files, parcel.place) };
}

/** Folders and files of the caller that a task names, each with its place in the upload. */
function localFilesOf({ workdir, fileMounts, uploadedPaths }: Task, scope: Scope) {
  const placeOf = (name: string, source: string): string =>
    uploadedPaths[source] ??
    fail(
      "ValueError",
      `${name}: ${source} was not uploaded; clients upload files before the request`,
    );
  const mounts = scope === "all" ? Object.entries(fileMounts) : [];
  return [
    ...(workdir?.kind === "folder"
      ? [
          {
            name: "workdir",
            destination: `~/${product.word}_workdir`,
            place: placeOf("workdir", workdir.path),
          },
        ]
      : []),
    ...mounts.flatMap(([name, mount]) =>
      mount.kind === "path"
        ? [{ name, destination: name, place: placeOf(name, mount.source) }]
        : [],
    ),
  ];
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
