import { type readers, storageTypes, stores } from "../../../contract/task/storage.ts";
import {
  type cachedReaders,
  type mountReaders,
  storageModes,
} from "../../../contract/task/storage-options.ts";
import type {
  configReaders,
  hostReaders,
  readers as volumeReaders,
} from "../../../contract/task/volumes.ts";
import { size } from "./resources.ts";
import {
  amount,
  choice,
  either,
  fields,
  flag,
  integer,
  listOf,
  mapOf,
  type Schema,
  text,
  type Written,
} from "./shapes.ts";

const cached = {
  transfers: integer(1),
  buffer_size: text,
  vfs_cache_max_size: text,
  vfs_cache_max_age: text,
  vfs_read_ahead: text,
  vfs_read_chunk_size: text,
  vfs_read_chunk_streams: integer(0),
  vfs_write_back: text,
  read_only: flag,
} satisfies Record<Written<typeof cachedReaders>, Schema>;

const mounted = { read_only: flag } satisfies Record<Written<typeof mountReaders>, Schema>;

/** The fields of a storage mapping under `file_mounts`. */
export const storageRows = {
  name: text,
  source: either(text, listOf(text)),
  store: choice(...stores),
  persistent: flag,
  mode: choice(...storageModes),
  type: choice(...storageTypes),
  config: fields({ mount: fields(mounted), mount_cached: fields(cached) }),
} satisfies Record<Written<typeof readers>, Schema>;

/** The fields of a volume: one that there is, one that lives with the cluster, or a folder of the host. */
export const volume = fields({
  name: text,
  sub_path: text,
  size: amount(size),
  type: choice("k8s-pvc"),
  labels: mapOf(text),
  config: fields({
    storage_class_name: text,
    access_mode: text,
    namespace: text,
    host_path: text,
    cleanup_on_deletion: flag,
  } satisfies Record<Written<typeof configReaders>, Schema>),
  host_path: text,
  mode: choice("ro", "rw"),
} satisfies Record<Written<typeof volumeReaders> | Written<typeof hostReaders>, Schema>);
