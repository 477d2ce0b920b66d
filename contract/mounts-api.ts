import * as z from "zod";
import { innerOperations } from "../common/operation.ts";

/** How nodes see buckets without copying them. */

const Word = z.string().regex(/^\S+$/);

/** How a mount with a cache on disk behaves; what is left out is up to the program. */
export const CacheOptions = z.object({
  transfers: z.int().positive().optional(),
  bufferSize: z.string().optional(),
  cacheMaxSize: z.string().optional(),
  cacheMaxAge: z.string().optional(),
  readAhead: z.string().optional(),
  readChunkSize: z.string().optional(),
  readChunkStreams: z.int().min(0).optional(),
  writeBack: z.string().optional(),
});
export type CacheOptions = z.output<typeof CacheOptions>;

/** A bucket, and where a node shall see it. */
export const MountOrder = z.object({
  destination: z.string().min(1),
  /** What messages call the bucket: `s3://data`. */
  name: z.string(),
  bucket: z.string().regex(/^[\w.-]+$/),
  endpoint: z.url({ protocol: /^https?$/ }),
  region: z.string(),
  /** Kept sealed on disk. Null for a public bucket. */
  keys: z.object({ id: Word, secret: Word, session: Word.optional() }).nullable(),
  readOnly: z.boolean(),
  /** Files that were read stay on disk, and those that were written are uploaded later. Null: at once. */
  cache: CacheOptions.nullable(),
});
export type MountOrder = z.output<typeof MountOrder>;

/** A mount as its node tells it. */
export const MountState = z.object({
  destination: z.string(),
  name: z.string(),
  /** What serves it, with its version; empty before the first time. */
  program: z.string(),
  /** Why it is not there; null where it is. */
  problem: z.string().nullable(),
});
export type MountState = z.output<typeof MountState>;

/** The part of the agent's API that is about mounts. */
export const mountOperations = innerOperations({
  putMount: {
    route: "PUT /mounts",
    summary:
      "Mount a bucket at `destination` from now on, also after the node or the agent was away; in place of what offers of files had put there.",
    input: { body: MountOrder },
    output: MountState,
    errors: ["ConflictError", "NotSupportedError", "StorageError", "ValueError"],
  },
  listMounts: {
    route: "GET /mounts",
    summary: "The buckets that this node has mounted, or shall have.",
    output: z.array(MountState),
  },
});
