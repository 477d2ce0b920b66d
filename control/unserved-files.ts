import type { FileMount } from "../contract/task/file-mounts.ts";
import type { Path } from "../contract/task/issues.ts";
import { schemeOf } from "../contract/task/storage-uri.ts";
import type { Task } from "../contract/task.ts";
import { isReadable } from "./buckets/stores.ts";
import { addressIn } from "./storage/schema.ts";

/** Files of a task that nodes cannot have, and why. */
export function unservedFiles({
  workdir,
  fileMounts,
}: Task): { readonly path: Path; readonly why: string }[] {
  const isElsewhere = workdir?.kind === "bucket" && !isReadable(workdir.uri);
  return [
    ...(isElsewhere ? [{ path: ["workdir"], why: "must be at an s3:// or gs:// address" }] : []),
    ...Object.entries(fileMounts).flatMap(([destination, mount]) => {
      const why = whyUnserved(mount);
      return why === undefined ? [] : [{ path: ["file_mounts", destination], why }];
    }),
  ];
}

function whyUnserved(mount: FileMount): string | undefined {
  if (mount.kind === "path") return undefined;
  if (mount.kind === "bucket") return whyUnread(mount.uri);
  const { mode, name, sources, store } = mount.storage;
  const [uri = ""] = sources;
  if (name === undefined && whyUnread(uri) !== undefined) return whyUnread(uri);
  if (name !== undefined) return whyUnnamed(name, store, mode);
  if (mode !== "COPY" && !isReadable(uri))
    return `what is at such an address cannot be mounted; use \`mode: COPY\``;
  return undefined;
}

function whyUnnamed(name: string, store: string | undefined, mode: string): string | undefined {
  if (addressIn(store, name) !== undefined) return undefined;
  if (store !== undefined && store !== "VOLUME")
    return `cannot be in a bucket of \`store: ${store}\` by its name; use \`S3\`, \`GCS\` or \`VOLUME\`, or give the address of the bucket as \`source\``;
  if (mode === "COPY") return undefined;
  return "is in a bucket that control keeps, which cannot be mounted; set `mode: COPY`, or `store: S3` or `GCS`";
}

const whyUnread = (uri: string): string | undefined =>
  isReadable(uri) || ["https", "hf"].includes(schemeOf(uri) ?? "")
    ? undefined
    : "cannot be copied from such an address yet; use an s3://, gs://, hf:// or https:// address";
