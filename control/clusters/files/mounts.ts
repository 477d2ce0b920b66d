import { fail } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import type { FileMount } from "../../../contract/task/file-mounts.ts";
import type { Storage } from "../../../contract/task/storage.ts";
import type { Task } from "../../../contract/task.ts";
import { isHub, readHubAddress } from "../../buckets/hub.ts";
import type { Keys } from "../../buckets/sigv4.ts";
import { isReadable, keysAmong } from "../../buckets/stores.ts";
import { addressIn } from "../../storage/schema.ts";
import { secretsOf } from "../../task.ts";
import type { NamedBucket } from "./claimed-bucket.ts";
import { type NamedRepository, repositoryOf } from "./cloned.ts";
import { digestIn } from "./fetched.ts";
import { splitLogin } from "./login.ts";
import type {
  FetchedParcel,
  MountedParcel,
  Scope,
  SecretParcel,
  UploadedParcel,
} from "./parcels.ts";
import { secretFilesOf } from "./secret-files.ts";

/** What a task has brought to its nodes, by where that comes from. */
export interface Mounts {
  readonly uploaded: readonly Omit<UploadedParcel, "userId" | "blobId">[];
  readonly fetched: readonly FetchedParcel[];
  readonly mounted: readonly MountedParcel[];
  readonly secrets: readonly SecretParcel[];
  readonly named: readonly NamedBucket[];
  readonly cloned: readonly NamedRepository[];
}

/** The files that a task names. Throws `ValueError` for those that its client did not send. */
export function mountsOf(task: Task, scope: Scope): Mounts {
  const { workdir, fileMounts } = task;
  const home = { name: "workdir", destination: `~/${product.word}_workdir` };
  const places: Place[] = [];
  if (workdir?.kind === "folder")
    places.push({ ...home, mount: { kind: "path", source: workdir.path } });
  if (workdir?.kind === "bucket") places.push({ ...home, mount: workdir });
  if (scope === "all")
    for (const [name, mount] of Object.entries(fileMounts))
      places.push({ name, destination: name, mount });
  return {
    uploaded: places.flatMap((place) => uploadedAt(task, place)),
    fetched: places.flatMap((place) => fetchedAt(task, place)),
    mounted: places.flatMap((place) => mountedAt(task, place)),
    secrets: secretFilesOf(task, scope),
    named: places.flatMap((place) => namedAt(task, place)),
    cloned: workdir?.kind === "git" ? [{ ...home, ...repositoryOf(task, workdir) }] : [],
  };
}

interface Place {
  readonly name: string;
  readonly destination: string;
  readonly mount: FileMount;
}

function uploadedAt(task: Task, { name, destination, mount }: Place): Mounts["uploaded"] {
  if (mount.kind !== "path") return [];
  return [{ name, destination, place: placeOf(task, name, mount.source) }];
}

function fetchedAt(task: Task, { name, destination, mount }: Place): FetchedParcel[] {
  if (mount.kind === "path" || (mount.kind === "storage" && mount.storage.name)) return [];
  if (mount.kind === "storage" && mount.storage.mode !== "COPY") return [];
  const uri = mount.kind === "bucket" ? mount.uri : (mount.storage.sources[0] ?? "");
  if (isReadable(uri)) {
    return [{ name, destination, uri, keys: keysFor(task, name, uri) }];
  }
  if (isHub(uri)) {
    readHubAddress(name, uri);
    const { HF_TOKEN: token } = { ...task.envs, ...secretsOf(task) };
    return [{ name, destination, uri, keys: undefined, token: token || undefined }];
  }
  // A web server has no keys, but a login in its address.
  digestIn(name, splitLogin(name, uri).url);
  return [{ name, destination, uri, keys: undefined }];
}

function mountedAt(task: Task, { name, destination, mount }: Place): MountedParcel[] {
  if (mount.kind !== "storage" || mount.storage.mode === "COPY" || mount.storage.name) return [];
  const [uri = ""] = mount.storage.sources;
  return [
    { name, destination, mounted: mountedFrom(mount.storage, uri, keysFor(task, name, uri)) },
  ];
}

/** How nodes mount the bucket of a storage. */
function mountedFrom(
  { mode, options: { readOnly, ...cache } }: Storage,
  uri: string,
  keys: Keys | undefined,
): MountedParcel["mounted"] {
  return { uri, keys, readOnly, cache: mode === "MOUNT_CACHED" ? cache : null };
}

function keysFor(task: Task, name: string, uri: string): Keys | undefined {
  if (/^\w+:\/+$/.test(uri))
    fail("ValueError", `${name}: ${uri} names no bucket; write ${uri}BUCKET/PATH`);
  return keysAmong(uri, { ...task.envs, ...secretsOf(task) });
}

function namedAt(task: Task, { name, destination, mount }: Place): NamedBucket[] {
  if (mount.kind !== "storage" || mount.storage.name === undefined) return [];
  const { name: bucket, sources, isList, store, mode, persistent: isPersistent } = mount.storage;
  const placed = sources.map((path) => ({ path, place: placeOf(task, name, path) }));
  const uri = addressIn(store, bucket);
  const keysOf = (address: string) => keysFor(task, name, address);
  const mounted =
    mode === "COPY" || uri === undefined ? undefined : mountedFrom(mount.storage, uri, keysOf(uri));
  const place = { uri, keysOf, mounted };
  return [{ name, destination, bucket, isPersistent, sources: placed, isList, ...place }];
}

const placeOf = ({ uploadedPaths }: Task, name: string, source: string): string =>
  uploadedPaths[source] ??
  fail(
    "ValueError",
    `${name}: ${source} was not uploaded; clients upload files before the request`,
  );
