import { posix } from "node:path";
import * as z from "zod";
import { innerOperations } from "../common/operation.ts";
import { product } from "../common/product.ts";
import { byteCount } from "./caps.ts";

/**
 * How files reach a node, and come back. Control offers a manifest, one entry a line, and sends the
 * contents that the node lacks; offered again, the manifest is made true. The other way a node lists
 * what it has, and sends the stretches that it is asked for.
 */

/** Below a folder and never out of it; `""` is the place itself, for a single file. */
const isBelow = (path: string): boolean =>
  path === "" || !(path.includes("\0") || /(^|\/)(\.{0,2})(\/|$)/.test(path));

const path = z.string().max(4_096).refine(isBelow, "must lead to something below its folder");
const target = z
  .string()
  .min(1)
  .max(4_095)
  .refine((text) => !text.includes("\0"), "must not have a NUL byte");
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** A file, by its content's digest. */
export const FileEntry = z.object({
  kind: z.literal("file"),
  path,
  size: z.int().min(0),
  /** Its permissions, as in chmod. */
  mode: z.int().min(0).max(0o777),
  sha256: Sha256,
});
export type FileEntry = z.output<typeof FileEntry>;

const kinds = [
  FileEntry,
  z.object({ kind: z.literal("folder"), path }),
  z.object({ kind: z.literal("link"), path, target }),
] as const;

/** What lies at a path below a destination. */
export const Entry = z.discriminatedUnion("kind", kinds);
export type Entry = z.output<typeof Entry>;

/** Whether a link leads out of the folder that its path is below. */
export function leadsOut({ path, target }: { path: string; target: string }): boolean {
  const end = posix.normalize(posix.join(posix.dirname(path), target));
  return posix.isAbsolute(target) || end === ".." || end.startsWith("../");
}

/** What a node finds at a path; a folder comes before what is in it. */
export const Listed = z.discriminatedUnion("kind", [
  ...kinds,
  z.object({ kind: z.literal("unreadable"), path, why: z.string() }),
]);
export type Listed = z.output<typeof Listed>;

/** The bytes of a file from `offset` to `end`. */
export const Stretch = z.object({ path, offset: byteCount, end: byteCount });
export type Stretch = z.output<typeof Stretch>;

/** Comes before a stretch, as a line: how many bytes follow, or why there are none. */
export const StretchHead = z.object({ bytes: z.int().min(0), problem: z.string().optional() });
export type StretchHead = z.output<typeof StretchHead>;

/** So many stretches are asked for at once, at most. */
export const mostStretches = 500;

/** The content of a file, as it is asked for and sent: this as a line, then `size` bytes. */
export const Content = z.object({ sha256: Sha256, size: z.int().min(0) });
export type Content = z.output<typeof Content>;

const destination = z.string().min(1);
const headers = z.record(z.string(), z.string());

/** Where a node reads by itself. Messages use `name`: the address may hold a key. */
export const Source = z.object({
  name: z.string().min(1),
  url: z.url({ protocol: /^https?$/ }).max(16_384),
  headers: headers.default({}),
});
export type Source = z.output<typeof Source>;

/** What a source says of its content. */
export const Probed = z.object({
  size: z.int().min(0),
  /** Its ETag, or else its date; null where it tells neither. */
  version: z.string().nullable(),
  /** Whether parts of it can be read. */
  hasRanges: z.boolean(),
});
export type Probed = z.output<typeof Probed>;

/** A content to fetch. Where its digest is not known, `sha256` identifies its source and version instead. */
export const FetchedContent = Content.extend({
  ...Source.shape,
  ...Probed.shape,
  digest: z.object({ algorithm: z.enum(["md5", "sha256"]), hex: z.string() }).nullable(),
});
export type FetchedContent = z.output<typeof FetchedContent>;

/** A line of news while contents are fetched: the bytes so far, or, as the last one, how it ended. */
export const FetchNews = z.union([
  z.object({ bytes: z.int().min(0) }),
  z.object({ problem: z.object({ type: z.string(), message: z.string() }).nullable() }),
]);
export type FetchNews = z.output<typeof FetchNews>;

/** What came of an offer. With something `missing` nothing was done yet. */
export const FilesOffered = z.object({
  missing: z.array(Content),
  /** Files of the manifest, and those of them that were or will be written, with their bytes. */
  files: z.int().min(0),
  changed: z.int().min(0),
  changedBytes: z.int().min(0),
  /** Files that an earlier manifest had brought and this one does not have. */
  removed: z.int().min(0),
});
export type FilesOffered = z.output<typeof FilesOffered>;

/** Where a volume lies, as a node reaches it. */
export const VolumeSource = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("folder"), path: z.string().min(2) }),
  z.object({
    kind: z.literal("nfs"),
    server: z.string().min(1),
    path: z.string().min(1),
    options: z.string(),
  }),
]);
export type VolumeSource = z.output<typeof VolumeSource>;

/** Where nodes mount exports, and no other place: nothing that is deleted with a node may lead into one. */
export const exportsFolder = `/run/${product.word}/exports`;

/** The part of the agent's API that is about files. */
export const fileOperations = innerOperations({
  offerFiles: {
    route: "PUT /files",
    summary:
      "Have at `destination` what the manifest in the body says, or learn which contents are missing. What an earlier manifest brought goes when this one lacks it, unless it was changed since; all else that lies there stays. `~/x` is below the node's home, `x` below the working folder.",
    input: {
      query: z.object({ destination, manifest: Sha256.optional() }),
      rawBody: "application/x-ndjson",
    },
    output: FilesOffered,
    errors: ["ConflictError", "ValueError"],
  },
  offerAgain: {
    route: "POST /files/again",
    summary:
      "The same with the manifest that was brought to `destination` last, which is not sent again; `NotFoundError` unless `manifest` is what it was offered as.",
    input: { body: z.object({ destination, manifest: Sha256 }) },
    output: FilesOffered,
    errors: ["ConflictError", "NotFoundError", "ValueError"],
  },
  sendContents: {
    route: "POST /files/contents",
    summary: "Upload contents, each checked against its digest; complete ones are retained.",
    input: { rawBody: "application/octet-stream" },
    output: z.object({ received: z.int().min(0) }),
    errors: ["ValueError"],
  },
  probeSource: {
    route: "POST /files/sources",
    summary: "Size and version of what is at an address, as this node sees it.",
    input: { body: Source },
    output: Probed,
    errors: ["NotFoundError", "PermissionDeniedError", "StorageError"],
  },
  fetchContents: {
    route: "POST /files/contents/fetched",
    mode: "stream",
    summary:
      "Fetch the contents in the body, one a line, from where they are; complete ones are retained, and parts of the others, also across a restart. News come every second.",
    input: { rawBody: "application/x-ndjson" },
    output: z.unknown(),
    errors: ["ConflictError", "ValueError"],
  },
  attachVolume: {
    route: "PUT /volumes",
    summary:
      "Have a link to a volume, or to a folder in it, at `destination`; an export of a server is mounted first, and again whenever the agent starts.",
    input: {
      body: z.object({ destination, source: VolumeSource, subPath: path }),
    },
    output: z.null(),
    errors: ["ConflictError", "NotFoundError", "StorageError", "ValueError"],
  },
  listFiles: {
    route: "GET /files",
    mode: "stream",
    summary:
      "Files, folders and links at and below a path, one a line. `~/x` is below the node's home, `x` below the working folder. The path itself may be a link; those below it are told as links. The agent's own folder is left out.",
    input: { query: z.object({ path: z.string() }) },
    output: z.unknown(),
    errors: ["NotFoundError", "PermissionDeniedError", "ValueError"],
  },
  readFiles: {
    route: "POST /files/stretches",
    mode: "stream",
    summary: "Stretches of files below a path, in the order asked for, each after its head.",
    input: {
      body: z.object({ path: z.string(), stretches: z.array(Stretch).max(mostStretches) }),
    },
    output: z.unknown(),
    errors: ["NotFoundError", "PermissionDeniedError", "ValueError"],
  },
});
