import { child, gives, type Place, refuse } from "./place.ts";
import { fields, flag, integer, type Listed, reads, text } from "./readers.ts";

/** How nodes see a bucket: through a mount, as a copy, or through a mount with a cache on disk. */
export const storageModes = ["MOUNT", "COPY", "MOUNT_CACHED"] as const;
export type StorageMode = (typeof storageModes)[number];

/** How a mounted bucket behaves; undefined leaves the default of the mount. */
export interface MountOptions {
  readonly readOnly: boolean;
  readonly transfers: number | undefined;
  readonly bufferSize: string | undefined;
  readonly cacheMaxSize: string | undefined;
  readonly cacheMaxAge: string | undefined;
  readonly readAhead: string | undefined;
  readonly readChunkSize: string | undefined;
  readonly readChunkStreams: number | undefined;
  readonly writeBack: string | undefined;
}

const size = matching(/^\d+(?:\.\d+)?[BKMGTP]$/i, "must be a size with a unit letter: 512M or 10G");
const duration = matching(
  /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w|M|y))+$/,
  "must be a duration with units: 30s or 1h30m",
);

function matching(pattern: RegExp, message: string): Listed<string> {
  return reads(text.schema, (place) => {
    const value = text(place);
    if (value === undefined) return undefined;
    return pattern.test(value) ? value : refuse(place, message);
  });
}

export const mountSettings = fields({
  mount: fields({ read_only: flag }),
  mount_cached: fields({
    transfers: integer({ min: 1 }),
    buffer_size: size,
    vfs_cache_max_size: size,
    vfs_cache_max_age: duration,
    vfs_read_ahead: size,
    vfs_read_chunk_size: size,
    vfs_read_chunk_streams: integer({ min: 0 }),
    vfs_write_back: duration,
    read_only: flag,
  }),
});

/** Reads `config` of a storage mapping; each part of it goes with one mode. */
export function readMountOptions(place: Place, mode: StorageMode): MountOptions {
  const isMissing = place.value === undefined || place.value === null;
  const { mount, mount_cached: cached } = isMissing ? {} : (mountSettings(place) ?? {});
  if (gives(place, "mount") && mode !== "MOUNT")
    refuse(child(place, "mount"), "needs `mode: MOUNT`");
  if (gives(place, "mount_cached") && mode !== "MOUNT_CACHED")
    refuse(child(place, "mount_cached"), "needs `mode: MOUNT_CACHED`");
  return {
    readOnly: mount?.read_only ?? cached?.read_only ?? false,
    transfers: cached?.transfers,
    bufferSize: cached?.buffer_size,
    cacheMaxSize: cached?.vfs_cache_max_size ?? (mode === "MOUNT_CACHED" ? "10G" : undefined),
    cacheMaxAge: cached?.vfs_cache_max_age,
    readAhead: cached?.vfs_read_ahead,
    readChunkSize: cached?.vfs_read_chunk_size,
    readChunkStreams: cached?.vfs_read_chunk_streams,
    writeBack: cached?.vfs_write_back ?? (mode === "MOUNT_CACHED" ? "1s" : undefined),
  };
}
